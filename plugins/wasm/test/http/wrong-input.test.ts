import t from 'tap'
import { createQueueNode } from '../fixtures/queue-stand.ts'
import { callFile, post, readAnswer } from '../fixtures/wasm-node.ts'

t.test('a request with wrong input is refused with the reason, and runs nothing', async (t) => {
  const { runtime, users } = await createQueueNode(t)
  const [ada] = users
  const call = { filepath: '/m.wasm', function: 'same', args: [1] }
  const bytes = { wasmBytes: 'AAAA', function: 'same', args: [1] }
  const run = { filepath: '/m.wasm' }
  const deep = '['.repeat(100_000)
  const wrong: readonly (readonly [endpoint: string, body: unknown, message: RegExp])[] = [
    ['execute-file', '{', /not valid JSON/],
    ['execute-file', `{"filepath":"/m.wasm","function":"same","args":${deep}`, /more than 1000 levels/],
    ['execute-file', '', /not valid JSON/],
    ['execute-file', 'null', /the body must be an object/],
    ['execute-file', [call], /the body must be an object/],
    ['execute-file', { ...call, filepath: undefined }, /filepath/],
    ['execute-file', { ...call, function: undefined }, /function/],
    ['execute-file', { ...call, filepath: 7 }, /filepath/],
    ['execute-file', { ...call, function: null }, /function/],
    ['execute-file', { ...call, function: ['same'] }, /function/],
    ['execute-file', { ...call, args: 1 }, /args/],
    ['execute-file', { ...call, args: { 0: 1, length: 1 } }, /args/],
    ['execute-file', { ...call, args: null }, /args/],
    ['execute-file', { ...call, args: Array(1001).fill(0) }, /args/],
    ['execute-file', { ...call, arguments: [] }, /"[\w.]*arguments" in the body is not a known key/],
    ['execute-file', { ...call, wasmBytes: 'AAAA' }, /"[\w.]*wasmBytes" in the body is not a known key/],
    ['execute-file', '{"filepath":"/m.wasm","function":"same","args":[1],"__proto__":{}}', /not valid JSON/],
    ['execute-file', { ...call, filepath: 'm.wasm' }, /path must begin/],
    ['execute-file', { ...call, filepath: '/../m.wasm' }, /"\.\."/],
    ['execute-file', { ...call, filepath: '/m.wasm\0' }, /NUL/],
    ['execute-file', { ...call, filepath: '/' }, /"\/" is a folder/],
    ['execute', { ...bytes, wasmBytes: undefined }, /wasmBytes/],
    ['execute', { ...bytes, wasmBytes: [0] }, /wasmBytes/],
    ['execute', { ...bytes, filepath: '/m.wasm' }, /"[\w.]*filepath" in the body is not a known key/],
    ['run', {}, /either by "filepath" or by "wasmBytes"/],
    ['run', { ...run, wasmBytes: 'AAAA' }, /either by "filepath" or by "wasmBytes"/],
    ['run', { ...run, args: [1] }, /args/],
    ['run', { ...run, args: ['\0'] }, /"args.0" contains the character NUL/],
    ['run', { ...run, args: ['', '\ud800'] }, /"args.1" is not valid Unicode/],
    ['run', { ...run, args: Array(1001).fill('') }, /args/],
    ['run', { ...run, env: { A: 1 } }, /env/],
    ['run', { ...run, env: ['A=1'] }, /env/],
    ['run', { ...run, env: { 'A=B': '1' } }, /contains "="/],
    ['run', { ...run, env: { '': '1' } }, /empty/],
    ['run', { ...run, env: { A: '\0' } }, /"env.A" contains the character NUL/],
    ['run', { ...run, env: { ['x'.repeat(300_000)]: '\0' } }, /^"env.x{100}…" contains the character NUL\.$/],
    ['run', { ...run, stdin: 1 }, /stdin/],
    ['run', { ...run, stdin: '\ud800' }, /"stdin" is not valid Unicode/],
    ['run', { ...run, stdin: 'AA=', encoding: 'base64' }, /"stdin" is not valid base64/],
    ['run', { ...run, encoding: 'latin1' }, /encoding/],
    ['run', { ...run, folders: ['/'] }, /folders/],
    ['run', { ...run, folders: [{ path: '/', mode: 'rw' }] }, /"[\w.]*mode" in the body is not a known key/],
    ['run', { ...run, folders: [{ path: '/', writable: 'yes' }] }, /writable/],
    ['run', { ...run, folders: Array(17).fill({ path: '/' }) }, /folders/],
    ['run', { ...run, cwd: '/' }, /"[\w.]*cwd" in the body is not a known key/],
  ]
  for (const [endpoint, body, message] of wrong) {
    const what = `${endpoint} ${JSON.stringify(body)?.slice(0, 100)}`
    const response = await readAnswer(post(ada, endpoint, body))
    t.match(response, { status: 400, body: { error: true, code: 'VALIDATION_ERROR' } }, what)
    t.match((response.body as { message: string }).message, message, what)
  }
  t.strictSame(runtime.counts, { exports: 0, calls: 0 })
  t.strictSame(runtime.programs, [])
  t.equal((await callFile(ada, '/m.wasm', 'same', [1])).status, 200)
})

t.test('other content types, methods and queries are refused', async (t) => {
  const { users } = await createQueueNode(t)
  const [ada] = users
  const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  t.equal((await readAnswer(post(ada, 'execute-file', 'filepath=/m.wasm', form))).status, 415)
  t.equal((await readAnswer(ada.fetch('/api/wasm/execute-file'))).status, 405)
  t.equal((await readAnswer(ada.fetch('/api/wasm/exports'))).status, 400)
  t.equal((await readAnswer(ada.fetch('/api/wasm/exports?path=/none'))).status, 404)
  t.equal((await readAnswer(ada.fetch('/api/wasm/exports?path=/'))).status, 400)
  const large = { filepath: '/m.wasm', function: 'x'.repeat(2 * 1024 * 1024), args: [] }
  t.equal((await readAnswer(post(ada, 'execute-file', large))).status, 413)
})

t.test('a call may omit the arguments of a function without parameters', async (t) => {
  const { runtime, users } = await createQueueNode(t)
  runtime.functions = [{ name: 'nothing', parameters: [], results: [] }]
  const body = { filepath: '/m.wasm', function: 'nothing' }
  t.equal((await readAnswer(post(users[0], 'execute-file', body))).text, '{"success":true,"result":null}')
})
