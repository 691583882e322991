import { busy } from '../../http/errors.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { type Caller, type CallRequest, csvWriter, type OperatorOperation, pages } from './operation.ts';

/** Lists as CSV: read page by page as the client takes them, one at a time of each list. */
export class CsvExports {
  readonly #running = new Set<OperatorOperation>();

  /** Answers with all that a request selects, in no pages; 503 while another export of the same list runs. */
  async answer(
    operation: OperatorOperation,
    caller: Caller,
    { exchange, request, headers = [] }: { exchange: Exchange; request: CallRequest; headers?: readonly string[] },
  ): Promise<Answer> {
    if (this.#running.has(operation)) return busy('Another export of this list runs; retry when it is done');
    this.#running.add(operation);
    try {
      const lines = linesOf(operation, caller, request);
      const answer = { status: 200, headers, contentType: 'text/csv; charset=utf-8' };
      await exchange.answerInParts(answer, lines);
      return answer;
    } finally {
      this.#running.delete(operation);
    }
  }
}

async function* linesOf(operation: OperatorOperation, caller: Caller, request: CallRequest): AsyncGenerator<string> {
  const { csv } = operation.list ?? {};
  if (!csv) throw new Error(`${operation.id} has no CSV`);
  const write = csvWriter(csv, request.query);
  for await (const { json } of pages(operation, caller, request)) yield write(json as object[]);
}
