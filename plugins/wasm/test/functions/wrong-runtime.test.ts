import type { WasmFunctionExport, WasmValueType } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { createQueueNode } from '../fixtures/queue-stand.ts'
import { callBytes, readAnswer, store } from '../fixtures/wasm-node.ts'

t.test('the node refuses results that a function cannot have returned', async (t) => {
  const { runtime, users } = await createQueueNode(t)
  const wrong: readonly (readonly [types: readonly WasmValueType[], results: readonly unknown[]])[] = [
    [['i64'], [undefined]],
    [['i64'], []],
    [['i64'], [1, 2]],
    [['i64'], [0.5]],
    [['i64'], [2 ** 53]],
    [['i64'], [2n ** 63n]],
    [['i64'], ['1']],
    [['i32'], [1n]],
    [['i32'], [2 ** 31]],
    [['i32'], [Number.NaN]],
    [['f32'], [null]],
    [['f64'], ['NaN']],
    [[], [1]],
    [['i32', 'f64'], [1]],
  ]
  for (const [index, [results, given]] of wrong.entries()) {
    runtime.functions = [{ name: 'f', parameters: [], results }]
    runtime.results = given
    const response = await callBytes(users[0], Buffer.from(`module ${index}`), 'f')
    const body = { code: 'SERVICE_UNAVAILABLE', message: /gave results that the function cannot have/ }
    t.match(response, { status: 503, body }, `${results}: ${given}`)
  }
  runtime.functions = [{ name: 'f', parameters: [], results: ['i32', 'i64', 'f32', 'f64'] }]
  runtime.results = [-1, -(2n ** 63n), -0, Number.NEGATIVE_INFINITY]
  t.equal(
    (await callBytes(users[0], Buffer.from('fine'), 'f')).text,
    '{"success":true,"result":[-1,"-9223372036854775808",-0,"-Infinity"]}',
  )
})

t.test('the list of functions omits those with other types than numbers', async (t) => {
  const { runtime, users } = await createQueueNode(t)
  const [ada] = users
  const plain = { name: 'plain', parameters: ['i32'], results: [] }
  const other = [
    { name: 'reference', parameters: ['funcref'], results: [] },
    { name: 'vector', parameters: [], results: ['i32', 'v128'] },
    { name: 'object', parameters: ['constructor'], results: [] },
  ]
  runtime.functions = [...other, plain] as unknown as WasmFunctionExport[]
  await store(ada, '/other.wasm', Buffer.from('another module'))
  const listed = await readAnswer(ada.fetch('/api/wasm/exports?path=/other.wasm'))
  t.strictSame([listed.status, listed.body], [200, { exports: [plain] }])
  for (const { name } of other) {
    const response = await callBytes(ada, Buffer.from('another module'), name, [1])
    t.match(response, { status: 404, body: { message: /that can be called\. It exports: plain\./ } })
  }
})
