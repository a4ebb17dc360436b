import t from 'tap'
import { arithmetic, hostile, partlyCallable } from '../fixtures/modules.ts'
import { createNativeNode } from '../fixtures/native-node.ts'
import { callBytes, callFile, post, readAnswer, store } from '../fixtures/wasm-node.ts'
import { wat } from '../fixtures/wat.ts'

type WrongCall = readonly [
  path: string,
  name: string,
  args: readonly unknown[],
  status: number,
  message: RegExp,
]

const node = await createNativeNode(t)

t.test('functions of stored modules and of modules in requests can be called', async (t) => {
  const ada = await node.signIn()
  const bytes = await wat(arithmetic)
  await store(ada, '/lib/arithmetic.wasm', bytes)
  const calls: readonly (readonly [name: string, args: string, result: string])[] = [
    ['add', '19,23', '42'],
    ['add', '4294967295,1', '0'],
    ['add', '-0,1e3', '1000'],
    ['addLong', '"9223372036854775807",1', '"-9223372036854775808"'],
    ['addLong', '9007199254740990,"1"', '9007199254740991'],
    ['addLong', '"18446744073709551615",-0', '-1'],
    ['half', '5', '2.5'],
    ['half', '"NaN"', '"NaN"'],
    ['half', '"-Infinity"', '"-Infinity"'],
    ['half', '-0', '-0'],
    ['single', '0.1', '0.10000000149011612'],
    ['single', '-3.4028235e38', '-3.4028234663852886e+38'],
    ['single', '1e-60', '0'],
    ['single', '"Infinity"', '"Infinity"'],
    ['nothing', '', 'null'],
    ['swap', '1,-0', '[-0,1]'],
    ['constructor', '', '1'],
  ]
  const sources = {
    'execute-file': '"filepath":"/lib/arithmetic.wasm"',
    execute: `"wasmBytes":"${Buffer.from(bytes).toString('base64')}"`,
  }
  for (const [name, args, result] of calls) {
    for (const [endpoint, source] of Object.entries(sources)) {
      const answer = await post(ada, endpoint, `{${source},"function":"${name}","args":[${args}]}`)
      t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
      t.equal(await answer.text(), `{"success":true,"result":${result}}`, `${endpoint} ${name} ${args}`)
      t.equal(answer.status, 200)
    }
  }
  for (const number of ['1e400', '-1e400']) {
    const body = `{${sources['execute-file']},"function":"half","args":[${number}]}`
    const { status, text } = await readAnswer(post(ada, 'execute-file', body))
    t.equal(status, 400, number)
    t.match(text, 'a number that a double can hold')
  }
})

t.test('each wrong call gets the error that names its fault', async (t) => {
  const bounded = await createNativeNode(t, { memoryMB: 8 })
  const ada = await bounded.signIn()
  await store(ada, '/a.wasm', await wat(arithmetic))
  await store(ada, '/none.wasm', await wat('(module (memory (export "memory") 1))'))
  await store(ada, '/other.wasm', await wat(partlyCallable))
  await store(ada, '/text.wasm', Buffer.from('(module)'))
  await store(ada, '/empty.wasm', Buffer.from(''))
  await store(ada, '/cut.wasm', (await wat(arithmetic)).subarray(0, -3))
  await store(ada, '/imports.wasm', await wat('(module (import "env" "secret" (func)) (func (export "f")))'))
  await store(ada, '/hostile.wasm', await wat(hostile))
  const list = /It exports: add, addLong, half, single, nothing, swap, constructor\./
  const wrong: readonly WrongCall[] = [
    ['/b.wasm', 'add', [1, 2], 404, /nothing at "\/b.wasm"/],
    ['/a.wasm/b', 'add', [1, 2], 404, /nothing at "\/a.wasm\/b"/],
    ['/', 'add', [1, 2], 400, /"\/" is a folder/],
    ['/text.wasm', 'add', [1, 2], 400, /./],
    ['/empty.wasm', 'add', [1, 2], 400, /not valid WebAssembly: it is empty\./],
    ['/cut.wasm', 'add', [1, 2], 400, /./],
    ['/imports.wasm', 'f', [], 400, /env.*secret/],
    ['/a.wasm', 'subtract', [1, 2], 404, list],
    ['/a.wasm', '', [1, 2], 404, list],
    ['/a.wasm', 'memory', [], 404, list],
    ['/a.wasm', 'global', [], 404, list],
    ['/a.wasm', '__proto__', [], 404, list],
    ['/a.wasm', 'toString', [], 404, list],
    ['/a.wasm', 'hasOwnProperty', ['x'], 404, list],
    ['/none.wasm', 'f', [], 404, /exports no function/],
    ['/other.wasm', 'other', [], 404, /no function "other" that can be called\. It exports: f\./],
    ['/a.wasm', 'add', [1], 400, /"add" takes 2 \(i32, i32\) as arguments, but "args" has 1 value\./],
    ['/a.wasm', 'add', [1, 2, 3], 400, /but "args" has 3 values/],
    ['/a.wasm', 'nothing', [1], 400, /takes none as arguments/],
    [
      '/a.wasm',
      'add',
      [1.5, 2],
      400,
      /Argument 1 of "add" \("args.0"\) must be an integer from -2147483648 to 4294967295 \(i32\)/,
    ],
    ['/a.wasm', 'add', [1, 4294967296], 400, /Argument 2 of "add"/],
    ['/a.wasm', 'add', [-2147483649, 0], 400, /Argument 1 of "add"/],
    ['/a.wasm', 'add', ['1', 2], 400, /Argument 1/],
    ['/a.wasm', 'add', [1, null], 400, /Argument 2/],
    ['/a.wasm', 'add', [true, 1], 400, /Argument 1/],
    ['/a.wasm', 'add', [[1], 1], 400, /Argument 1/],
    ['/a.wasm', 'add', [{}, 1], 400, /Argument 1/],
    [
      '/a.wasm',
      'addLong',
      [9007199254740992, 1],
      400,
      /write one beyond .* as a text of decimal digits \(i64\)/,
    ],
    ['/a.wasm', 'addLong', [0.5, 1], 400, /Argument 1/],
    [
      '/a.wasm',
      'addLong',
      ['18446744073709551616', 1],
      400,
      /from -9223372036854775808 to 18446744073709551615/,
    ],
    ['/a.wasm', 'addLong', ['-9223372036854775809', 1], 400, /Argument 1/],
    ...['', ' 1', '1n', '0x1', '1.0', '1e3', '--1', '+1', 'NaN'].map(
      (text) => ['/a.wasm', 'addLong', [1, text], 400, /Argument 2/] as const,
    ),
    [
      '/a.wasm',
      'half',
      ['1'],
      400,
      /must be a number that a double can hold, "NaN", "Infinity" or "-Infinity" \(f64\)/,
    ],
    ['/a.wasm', 'half', ['nan'], 400, /Argument 1/],
    ['/a.wasm', 'single', ['+Infinity'], 400, /Argument 1/],
    [
      '/a.wasm',
      'single',
      [1e39],
      400,
      /Argument 1 .* must be a number that a single can hold .* "Infinity" or "-Infinity" \(f32\)/,
    ],
    ['/a.wasm', 'single', [-3.4028236e38], 400, /Argument 1/],
    ['/hostile.wasm', 'trap', [], 422, /unreachable/],
    ['/hostile.wasm', 'grow', [], 422, /./],
    ['/hostile.wasm', 'deep', [], 422, /stack/],
  ]
  const codes: Record<number, string> = { 400: 'VALIDATION_ERROR', 404: 'NOT_FOUND', 422: 'UNPROCESSABLE' }
  for (const [path, name, args, status, message] of wrong) {
    const what = `${path} ${name} ${JSON.stringify(args)}`
    const response = await callFile(ada, path, name, args)
    t.match(response, { status, body: { error: true, code: codes[status], message } }, what)
    t.strictSame(Object.keys(response.body as object).sort(), ['code', 'error', 'message'])
  }
  t.equal((await callFile(ada, '/a.wasm', 'add', [1, 2])).text, '{"success":true,"result":3}')
})

t.test('a call that loops ends at the time limit of the node', async (t) => {
  const ada = await (await createNativeNode(t, { timeoutMs: 300 })).signIn()
  t.match(await callBytes(ada, await wat(hostile), 'loop'), {
    status: 422,
    body: { error: true, code: 'UNPROCESSABLE', message: /time limit of 300 ms/ },
  })
})

t.test('an error shortens a list of very many or very long names', async (t) => {
  const ada = await node.signIn()
  const functions = Array.from({ length: 2000 }, (_, index) => `(func (export "function${index}"))`)
  const many = await callBytes(ada, await wat(`(module ${functions.join('')})`), 'other')
  t.match(many.body, { code: 'NOT_FOUND', message: /function0, function1, .*, and 19\d\d more\.$/ })
  const long = await wat(`(module (func (export "${'x'.repeat(5000)}")))`)
  t.match((await callBytes(ada, long, 'y'.repeat(5000))).body, {
    code: 'NOT_FOUND',
    message:
      /^The module has no function "y{100}" that can be called\. It exports 1, with names too long to tell\.$/,
  })
})

t.test('the functions of a stored module are listed', async (t) => {
  const ada = await node.signIn()
  await store(ada, '/a.wasm', await wat(arithmetic))
  const response = await readAnswer(ada.fetch('/api/wasm/exports?path=/a.wasm'))
  t.strictSame(response.body, {
    exports: [
      { name: 'add', parameters: ['i32', 'i32'], results: ['i32'] },
      { name: 'addLong', parameters: ['i64', 'i64'], results: ['i64'] },
      { name: 'half', parameters: ['f64'], results: ['f64'] },
      { name: 'single', parameters: ['f32'], results: ['f32'] },
      { name: 'nothing', parameters: [], results: [] },
      { name: 'swap', parameters: ['i32', 'f64'], results: ['f64', 'i32'] },
      { name: 'constructor', parameters: [], results: ['i32'] },
    ],
  })
  await store(ada, '/text.wasm', Buffer.from('text'))
  t.match(await readAnswer(ada.fetch('/api/wasm/exports?path=/text.wasm')), { status: 400 })
})
