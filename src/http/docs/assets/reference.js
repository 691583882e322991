// Starts the reference on the contract that this service serves, with the key that the reader pastes.

/* global SwaggerUIBundle */

const KEY_SCHEME = 'apiKey';
/** Answers that every operation can give; the page on errors explains them once. */
const SHARED_STATUSES = new Set(['401', '403', '429', '500', '503', 'default']);

followColorScheme();
start().catch((error) => {
  document.querySelector('#reference').textContent = `The reference could not be shown: ${error.message}`;
});

async function start() {
  const response = await fetch('/openapi.json');
  if (!response.ok) throw new Error(`/openapi.json was answered with ${response.status}`);
  const contract = await response.json();
  // Requests go to the service that this page came from, whatever addresses it is published under.
  contract.servers = [{ url: `${location.origin}/v1`, description: 'This service' }];
  inlineShared(contract);
  leaveOptionalParametersEmpty(contract);
  leaveOutWhatAllAnswersShare(contract);
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

/** Puts shared parameters and responses where they are referred to, for what follows to change. */
function inlineShared({ paths, components }) {
  const resolve = (part) =>
    part.$ref ? structuredClone(components[part.$ref.split('/')[2]][part.$ref.split('/')[3]]) : part;
  for (const operation of Object.values(paths).flatMap(Object.values)) {
    operation.parameters = operation.parameters?.map(resolve) ?? [];
    for (const [status, response] of Object.entries(operation.responses))
      operation.responses[status] = resolve(response);
  }
}

/** Examples explain a parameter, but would be sent with every request if they were filled in. */
function leaveOptionalParametersEmpty({ paths }) {
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

/** Every request is sent with the key that is in the field. */
function useKey(ui, pattern) {
  const input = document.querySelector('#key');
  const state = document.querySelector('#key-state');
  const told = state.textContent;
  const apply = () => {
    const key = input.value.trim();
    if (key) ui.preauthorizeApiKey(KEY_SCHEME, key);
    else if (ui.authSelectors.authorized().size > 0) ui.authActions.logout([KEY_SCHEME]);
    if (!key) state.textContent = told;
    else if (pattern.test(key)) state.textContent = 'The requests below are sent with this key.';
    else state.textContent = 'This does not look like a whole key; requests are sent with it all the same.';
  };
  input.addEventListener('input', apply);
  apply();
}

/** The limit headers are on every answer, and the failures that every operation shares are a page of their own. */
function leaveOutWhatAllAnswersShare({ paths }) {
  for (const { responses } of Object.values(paths).flatMap(Object.values)) {
    for (const [status, { headers = {} }] of Object.entries(responses)) {
      for (const [name, header] of Object.entries(headers)) if (header.$ref) delete headers[name];
      if (SHARED_STATUSES.has(status)) delete responses[status];
    }
  }
}

/** The operations and schemas alone: what else the usual layout shows stands on the page already. */
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
 * The path of an operation, with how stable it is and when it ends where the closed list shows it. It is no link, as
 * the usual one is: it stands inside a button.
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

/** Names the fields that would have no name for a screen reader. */
function labels({ React: { createElement: create } }) {
  const labelled = (text) => (Original) => (props) =>
    create('label', null, create('span', { className: 'unseen' }, text), create(Original, props));
  return { wrapComponents: { TextArea: labelled('Request body'), ExamplesSelect: labelled('Example') } };
}

/** The reference has a dark look, but does not choose it by itself. */
function followColorScheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', apply);
  apply();
}
