/**
 * Reads the weights of a field such as `Accept` or `Accept-Encoding`, by name in lower case: 1 where none is given, 0
 * for what is not acceptable (RFC 9110, section 12.4.2). Parameters other than `q` are ignored.
 */
export function weightsOf(field = ''): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of field.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length);
    weights.set(name, weight === undefined ? 1 : Number(weight) || 0);
  }
  return weights;
}
