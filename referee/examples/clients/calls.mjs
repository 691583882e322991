/** Three calls (a list, a create, a list) at the address in REFEREE_URL; SETTING=yes asks for the setting of the table. */

export const url = process.env.REFEREE_URL;
export const isSet = process.env.SETTING === 'yes';
export const key = () => (isSet ? { 'Idempotency-Key': crypto.randomUUID() } : {});

/** The JSON of an answer of fetch, or an error. */
export const ok = async (answer) => {
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
};

/** Milliseconds to wait by a `Retry-After`, in digits or as a date; `usual` without one. */
export const waits = (value, usual) => {
  if (!value) return usual;
  return /^\d+$/.test(value) ? value * 1000 : Math.max(0, Date.parse(value) - Date.now());
};

/** Makes a call up to four times, with the waits of `Retry-After` or longer and longer ones. */
export const patient = async (call) => {
  for (let attempt = 1; ; attempt += 1) {
    const failed = await call().then(
      () => undefined,
      (error) => error,
    );
    if (!failed) return;
    const status = failed.status ?? failed.statusCode;
    const headers = failed.headers ?? failed.response?.headers;
    const asked = headers?.get?.('retry-after') ?? headers?.['retry-after'];
    if (attempt >= 4 || (status < 500 && status !== 429)) throw failed;
    await new Promise((resolve) => setTimeout(resolve, waits(asked, 250 * 2 ** attempt)));
  }
};

export const calls = async ({ get, post }) => {
  try {
    await get('/pets');
    await post('/pets');
    await get('/orders');
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
};
