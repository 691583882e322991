// Renders the reference from this service's contract; requests use the key that the reader pastes.

/* global SwaggerUIBundle */

const KEY_SCHEME = 'apiKey';
/** Responses common to all operations, which the errors page explains. */
const SHARED_STATUSES = new Set(['401', '403', '429', '500', '503', 'default']);

followColorScheme();
start().catch((error) => {
  document.querySelector('#reference').textContent = `The reference could not be loaded: ${error.message}`;
});

async function start() {
  const response = await fetch('/openapi.json');
  if (!response.ok) throw new Error(`/openapi.json returned status ${response.status}`);
  const contract = await response.json();
  // Send requests to this page's origin, not to the published addresses.
  contract.servers = [{ url: `${location.origin}/v1`, description: 'This service' }];
  inlineShared(contract);
  clearOptionalExamples(contract);
  dropSharedResponses(contract);
  const ui = SwaggerUIBundle({
    domNode: document.querySelector('#reference'),
    spec: contract,
    layout: 'Reference',
    deepLinking: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    syntaxHighlight: { activated: false },
    validatorUrl: 'none',
    plugins: [operationsLayout, badges(contract), labels],
    onComplete: () => useKey(ui, new RegExp(contract.components.securitySchemes[KEY_SCHEME].bearerFormat)),
  });
}

/** Replaces references to shared parameters and responses by copies, which the next steps modify. */
function inlineShared({ paths, components }) {
  const resolve = (part) =>
    part.$ref ? structuredClone(components[part.$ref.split('/')[2]][part.$ref.split('/')[3]]) : part;
  for (const operation of Object.values(paths).flatMap(Object.values)) {
    operation.parameters = operation.parameters?.map(resolve) ?? [];
    for (const [status, response] of Object.entries(operation.responses))
      operation.responses[status] = resolve(response);
  }
}

/** Moves examples into the description: Swagger UI would prefill them and send them with every request. */
function clearOptionalExamples({ paths }) {
  for (const operation of Object.values(paths).flatMap(Object.values)) {
    for (const parameter of operation.parameters ?? []) {
      if (parameter.required) continue;
      const example = parameter.example ?? parameter.schema.example;
      delete parameter.example;
      delete parameter.schema.example;
      if (example !== undefined) parameter.description += `, for example \`${example}\``;
    }
  }
}

/** Authorizes requests with the key in the field. */
function useKey(ui, pattern) {
  const input = document.querySelector('#key');
  const state = document.querySelector('#key-state');
  const initial = state.textContent;
  const apply = () => {
    const key = input.value.trim();
    if (key) ui.preauthorizeApiKey(KEY_SCHEME, key);
    else if (ui.authSelectors.authorized().size > 0) ui.authActions.logout([KEY_SCHEME]);
    if (!key) state.textContent = initial;
    else if (pattern.test(key)) state.textContent = 'Requests on this page use this key.';
    else state.textContent = 'This does not look like a complete key. Requests use it anyway.';
  };
  input.addEventListener('input', apply);
  apply();
}

/** Removes the limit headers and shared errors from each operation: the limits and errors pages explain them. */
function dropSharedResponses({ paths }) {
  for (const { responses } of Object.values(paths).flatMap(Object.values)) {
    for (const [status, { headers = {} }] of Object.entries(responses)) {
      for (const [name, header] of Object.entries(headers)) if (header.$ref) delete headers[name];
      if (SHARED_STATUSES.has(status)) delete responses[status];
    }
  }
}

/** A layout with operations and schemas only; the page itself shows the rest. */
function operationsLayout({ React, getComponent }) {
  const parts = () => ['SvgAssets', 'errors', 'operations', 'Models'].map((name) => getComponent(name, true));
  return {
    components: {
      Reference: () =>
        React.createElement('div', { className: 'swagger-ui' }, ...parts().map((part) => React.createElement(part))),
    },
  };
}

/**
 * Shows stability and sunset badges next to the path. The path is plain text instead of the default link, which is
 * invalid inside a button.
 */
function badges({ paths }) {
  return ({ React: { createElement: create } }) => ({
    wrapComponents: {
      OperationSummaryPath:
        () =>
        ({ operationProps }) => {
          const [path, method] = [operationProps.get('path'), operationProps.get('method')];
          const { deprecated, 'x-stability': stability, 'x-deprecated-sunset': sunset } = paths[path][method];
          const marks = [...(stability ? [stability] : []), ...(deprecated ? [`deprecated, ends ${sunset}`] : [])];
          const className = deprecated ? 'opblock-summary-path__deprecated' : 'opblock-summary-path';
          const badge = (mark) => create('span', { key: mark, className: 'badge' }, mark);
          return [create('span', { key: 'path', className }, path), ...marks.map(badge)];
        },
    },
  });
}

/** Labels fields that otherwise have no accessible name. */
function labels({ React: { createElement: create } }) {
  const labelled = (text) => (Original) => (props) =>
    create('label', null, create('span', { className: 'unseen' }, text), create(Original, props));
  return { wrapComponents: { TextArea: labelled('Request body'), ExamplesSelect: labelled('Example') } };
}

/** Swagger UI has a dark mode, but does not follow the system's preference by itself. */
function followColorScheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', apply);
  apply();
}
