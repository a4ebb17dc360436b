import t from 'tap'
import { arithmetic, copyInput, hostile } from '../fixtures/modules.ts'
import { callFile, createWasmNode, post, readAnswer, store } from '../fixtures/wasm-node.ts'
import { wat } from '../fixtures/wat.ts'

t.test('a node really runs WASI programs and functions, within their limits', async (t) => {
  const plugins = { 'wasm-native': true, 'wasm-wasmer': true }
  const node = await createWasmNode({ timeoutMs: 2000 }, { config: { plugins } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await store(ada, '/copy.wasm', await wat(copyInput))
  await store(ada, '/a.wasm', await wat(arithmetic))
  const run = (body: object) => readAnswer(post(ada, 'run', body))

  const stdin = 'Grüße ✓\n'.repeat(500)
  const response = await run({ filepath: '/copy.wasm', stdin })
  t.strictSame(response.body, { success: true, exitCode: 0, stdout: stdin, stderr: '' })
  const failed = await run({ filepath: '/copy.wasm', args: ['a', 'b c'], stdin: '/w==', encoding: 'base64' })
  t.strictSame(failed.body, { success: false, exitCode: 2, stdout: '/w==', stderr: '' })
  const wasmBytes = Buffer.from(await wat(copyInput)).toString('base64')
  t.match((await run({ wasmBytes, stdin: 'x' })).body, { success: true, stdout: 'x' })

  t.equal((await callFile(ada, '/a.wasm', 'add', [1, 2])).text, '{"success":true,"result":3}')
  await store(ada, '/loop.wasm', await wat(hostile.replace('"loop"', '"_start"')))
  t.match(await run({ filepath: '/loop.wasm' }), { status: 422, body: { message: /time/ } })
  await store(ada, '/text.wasm', Buffer.from('no module'))
  t.match(await run({ filepath: '/text.wasm' }), { status: 400, body: { code: 'VALIDATION_ERROR' } })
  t.match(await run({ filepath: '/none.wasm' }), { status: 404, body: { code: 'NOT_FOUND' } })
})
