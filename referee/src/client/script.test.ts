import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseScript, stepText } from './script.ts';

test('a script is its steps, each as often as it says, and white space around them is nothing', () => {
  for (const [script, steps] of [
    [
      'ok, limit:2 ,lost*3,slow:60,grease,unavailable:1*2,revoked',
      'ok,limit:2,lost,lost,lost,slow:60,grease,unavailable:1,unavailable:1,revoked',
    ],
    ['limit:86400,status:418,limit-ms:250,limit-reset:1,stall', undefined],
    ['(ok*2,lost)*2,cut', 'ok,ok,lost,ok,ok,lost,cut'],
    [
      'error*2@POST /store/orders,cut@3.GET,lost@PUT /a/*',
      'error@POST /store/orders,error@POST /store/orders,cut@3.GET,lost@PUT /a/*',
    ],
  ] as const) {
    assert.equal(parseScript(script).map(stepText).join(), steps ?? script);
  }
  assert.equal(parseScript('quota:86400*10000').length, 10_000);
});

for (const [script, message] of [
  ['', /^The script is empty; separate its steps by commas: ok, limit:S, .* status:N, slow:S, stall, revoked, grease$/],
  ['ok,limt:2', /^The step "limt:2" is none of these: ok, limit:S/],
  ['limit', /^The step "limit" needs a whole number from 1 to 86400, such as limit:2$/],
  ['status:399', /from 400 to 599, such as status:400$/],
  ['error:1', /^The step "error:1" takes no number; write error$/],
  ['ok*0', /^"ok\*0" repeats "0" times; write a whole number from 1 to 10000$/],
  ['ok*9999,lost*2', /^The script has over 10000 steps$/],
  ['revoked,ok', /^revoked is for good; write it last, and once$/],
  ['(ok,lost', /^The parentheses of the script "\(ok,lost" do not match$/],
  ['(((((((((ok)))))))))', /^The script has more than 8 groups in each other$/],
  ['lost@', /^The step "lost@" is aimed at ""; write @METHOD, @3\.GET or @POST \/a\/\*$/],
  ['ok'.padStart(4_097), /^The script has 4097 characters; 4096 at most are possible$/],
] as const) {
  test(`the script "${script.slice(0, 20)}" is refused with what is wrong`, () => {
    assert.throws(() => parseScript(script), { name: 'Error', message });
  });
}
