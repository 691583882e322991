import { CatalogError } from '../../catalog/error.ts';
import { errorAnswer, methodNotAllowed } from '../../http/errors.ts';
import { html } from '../../http/html.ts';
import type { PageHandler } from '../../http/pages.ts';
import { createRouter } from '../../http/router.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { CsvExports } from '../api/csv.ts';
import { insufficientRole } from '../api/operation.ts';
import { createLogin, sessionRoutes } from '../session/login.ts';
import { createSignIn } from '../session/sign-in.ts';
import { accessForms, accessRoutes } from './access.ts';
import { auditRoutes } from './audit.ts';
import { catalogForms, catalogRoutes } from './catalog.ts';
import { type ConsoleContext, type ConsoleOptions, type ConsoleRoute, may, type View } from './frame/context.ts';
import { readForm } from './frame/form.ts';
import { barePage, CONSOLE_ASSETS, page } from './frame/layout.ts';
import { addressWithoutSecrets } from './frame/list.ts';
import { createExamination } from './health.ts';
import { keyForms } from './key-forms.ts';
import { keyRoutes } from './keys.ts';
import { overviewRoutes } from './overview.ts';
import { ownerForms, ownerRoutes } from './owner.ts';
import { requestRoutes } from './requests.ts';
import { createTraffic } from './traffic.ts';
import { whyRoutes } from './why.ts';

const NO_FORM = new URLSearchParams();
const FORMS = [...keyForms, ...ownerForms, ...accessForms, ...catalogForms];
/** Success notices, keyed by the `done` query parameter. */
const NOTICES = new Map([['unchanged', 'Nothing was changed.'], ...FORMS.map(({ notice }) => notice)]);

const ROUTES: readonly ConsoleRoute[] = [
  ...overviewRoutes,
  ...keyRoutes,
  ...FORMS.flatMap(({ routes }) => routes),
  ...auditRoutes,
  ...accessRoutes,
  ...catalogRoutes,
  ...ownerRoutes,
  ...sessionRoutes,
  ...requestRoutes,
  ...whyRoutes,
].map((route) => ({ ...route, path: route.path.replace(':id', '{id}') }));

/** Creates the request handler for `/console` and everything below. Never rejects: errors get an HTML page. */
export function createConsole(options: ConsoleOptions): (exchange: Exchange) => Promise<Answer> {
  const assets = new Map<string, PageHandler>(CONSOLE_ASSETS.map(({ path, page }) => [path, page]));
  const signIn = createSignIn(options.storage.sessions, options.identity);
  const login = createLogin(options);
  const { time } = options;
  const examination = createExamination(options);
  const traffic = createTraffic(options.metrics, time);
  const exports = new CsvExports();
  const find = createRouter(ROUTES, '/console');
  return async (exchange) => {
    try {
      return await respond(exchange);
    } catch (error) {
      return failurePage(error, barePage);
    }
  };

  async function respond(exchange: Exchange): Promise<Answer> {
    exchange.path = exchange.path.replace(/\/$/, '');
    const { request, path } = exchange;
    const asset = assets.get(path);
    if (asset) return withoutSession(exchange, asset, { route: '/console/assets', allow: 'GET, HEAD' });
    // A browser keeps addresses; its script cuts a secret before it is in one, where scripts run.
    const address = request.method === 'POST' ? undefined : addressWithoutSecrets(exchange);
    if (address !== undefined) return { status: 303, headers: ['Location', address] };
    signIn.identify(request);
    if (path === '/console/login') return withoutSession(exchange, login, { route: path, allow: 'GET, HEAD, POST' });
    const { unix: now } = time.now();
    const found = await signIn.find(exchange, now);
    if ('status' in found) return found;
    const { storage, environment, service } = options;
    const caller = { storage, environment, service, now, by: found.by, role: found.session.role };
    const state = { examination, exports, traffic };
    const context = { ...options, ...found, ...state, exchange, now, caller, form: NO_FORM, id: '' };
    const draw = (view: View) => page(context, view, NOTICES);
    try {
      return await handle(context, draw);
    } catch (error) {
      return failurePage(error, draw);
    }
  }

  async function handle(context: ConsoleContext, draw: Draw): Promise<Answer> {
    const { exchange } = context;
    const { method = '' } = exchange.request;
    const found = find(exchange);
    if (!found) throw new CatalogError('not_found', 'There is nothing at this address');
    if (method === 'OPTIONS') return { status: 204, headers: ['Allow', found.allow] };
    const route = found.operations[method === 'HEAD' ? 'GET' : method];
    if (!route) return notAllowed(method, found.allow, draw);
    if (!may(context, route.role)) throw insufficientRole(route.role, context.caller.role);
    const form = route.method === 'POST' ? await readForm(exchange) : NO_FORM;
    if (route.method === 'POST') signIn.checkForm(exchange, context, form);
    const [id = ''] = Object.values(exchange.params);
    const shown = await route.handle({ ...context, form, id });
    return 'content' in shown ? draw(shown) : shown;
  }

  function failurePage(error: unknown, draw: Draw): Answer {
    const message = error instanceof CatalogError ? error.message : 'The console failed; see the log';
    return errorPage(errorAnswer(error), message, draw);
  }
}

/** Renders a page in the frame that goes with the request: with the navigation for an open session. */
type Draw = (view: View) => Answer;

function withoutSession(
  exchange: Exchange,
  respond: PageHandler,
  { route, allow }: { route: string; allow: string },
): Answer | Promise<Answer> {
  const { method = '' } = exchange.request;
  exchange.route = route;
  return allow.split(', ').includes(method) ? respond(exchange) : notAllowed(method, allow);
}

function notAllowed(method: string, allow: string, draw: Draw = barePage): Answer {
  return errorPage(methodNotAllowed(method, allow), `${method} is not allowed here`, draw);
}

function errorPage(answer: Answer, message: string, draw: Draw): Answer {
  const title = answer.status === 404 ? 'Not found' : 'That did not work';
  const content = html`<h1>${title}</h1>
<p class="lead" role="alert">${message.replace(/[^?]$/, '$&.')}</p>
<p><a class="button" href="/console">Go to the overview</a></p>`;
  const { headers: ofPage = [], ...shown } = draw({ title, content });
  const { body: _, headers = [], ...failed } = answer;
  return { ...shown, ...failed, headers: [...ofPage, ...headers] };
}
