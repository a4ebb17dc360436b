import t from 'tap'
import { arithmetic, copyInput, hostile } from '../fixtures/modules.ts'
import { callFile, createWasmNode, post, readAnswer, store } from '../fixtures/wasm-node.ts'
import { wat } from '../fixtures/wat.ts'

/** Writes to both streams, and traps. */
const panic = `(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 64) "so farassertion failed")
  (data (i32.const 0) "\\40\\00\\00\\00\\06\\00\\00\\00\\46\\00\\00\\00\\10\\00\\00\\00")
  (func (export "_start")
    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 32)))
    (drop (call $write (i32.const 2) (i32.const 8) (i32.const 1) (i32.const 32)))
    (unreachable)))`

/** A spare process warms itself up for longer than these programs run. */
const withoutSpares = { 'wasm-wasmer': { spares: 0 } }

t.test('a node really runs WASI programs and functions', async (t) => {
  const config = { plugins: { 'wasm-native': true, 'wasm-wasmer': true }, ...withoutSpares }
  const node = await createWasmNode({ timeoutMs: 8000 }, { config })
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
  await store(ada, '/panic.wasm', await wat(panic))
  const written = { error: true, code: 'UNPROCESSABLE', message: 'The program trapped: unreachable.' }
  const trapped = await run({ filepath: '/panic.wasm' })
  t.strictSame(trapped, {
    status: 422,
    text: trapped.text,
    body: { ...written, stdout: 'so far', stderr: 'assertion failed' },
    retryAfter: null,
  })
  const inBase64 = await run({ filepath: '/panic.wasm', encoding: 'base64' })
  t.match(inBase64.body, { stdout: btoa('so far'), stderr: btoa('assertion failed') })
  await store(ada, '/text.wasm', Buffer.from('no module'))
  t.match(await run({ filepath: '/text.wasm' }), { status: 400, body: { code: 'VALIDATION_ERROR' } })
  t.match(await run({ filepath: '/none.wasm' }), { status: 404, body: { code: 'NOT_FOUND' } })
})

t.test('a program that loops ends at the time limit of the node', async (t) => {
  const config = { plugins: { 'wasm-wasmer': true }, ...withoutSpares }
  const node = await createWasmNode({ timeoutMs: 500 }, { config })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await store(ada, '/loop.wasm', await wat(hostile.replace('"loop"', '"_start"')))
  const looped = await readAnswer(post(ada, 'run', { filepath: '/loop.wasm' }))
  t.match(looped, { status: 422, body: { message: /time/, stdout: '', stderr: '' } })
})
