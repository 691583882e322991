import { type Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly agent?: Agent;
}

/** One request. The path goes out as it is; a body that only a Content-Length announces is never sent. */
export function call(
  origin: string,
  path: string,
  { method = 'GET', headers = {}, body, agent }: Sent,
): Promise<Answer> {
  const { protocol, hostname, port } = new URL(origin);
  const request = protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: hostname,
        port,
        path,
        method,
        headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
        ...(agent && { agent }),
      },
      async (response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
        if (!sent.writableFinished) sent.destroy();
      },
    );
    sent.on('error', reject);
    if (headers['content-length'] && !body) sent.flushHeaders();
    else sent.end(body);
  });
}
