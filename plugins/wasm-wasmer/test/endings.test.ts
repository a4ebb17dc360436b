import t from 'tap'
import { importing, program } from './fixtures/programs.ts'
import { createRuntime } from './fixtures/wasmer-stand.ts'

t.test('a run returns the exit code of its program', async (t) => {
  const fixture = createRuntime(t)
  const exit = (code: number) =>
    program('(call $proc_exit (i32.const 7))'.replace('7', String(code)), importing('proc_exit'))
  for (const code of [45, 256]) t.equal((await fixture.run(exit(code))).exitCode, code)
})

t.test('a trap is reported, even in the start function', async (t) => {
  const fixture = createRuntime(t)
  const traps: readonly (readonly [string, RegExp])[] = [
    [program('(drop (i32.load (i32.const -1)))'), /trapped: memory access out of bounds/],
    [program('(call $deep)', '', '(func $deep (call $deep) (call $deep))'), /trapped: Maximum call stack/],
    [
      program('(nop)', '', '(func $first (unreachable)) (start $first)'),
      /^The program trapped: unreachable\.$/,
    ],
  ]
  for (const [text, message] of traps) {
    await t.rejects(fixture.run(text), { code: 'UNPROCESSABLE', message }, String(message))
  }
})

t.test('a module that is no program is refused with the reason', async (t) => {
  const fixture = createRuntime(t)
  const wrong: readonly (readonly [string | Uint8Array, RegExp])[] = [
    [Buffer.from(''), /not valid WebAssembly: it is empty\./],
    [Buffer.from('\0webc003'), /not valid WebAssembly: expected magic word 00 61 73 6d\.$/],
    ['(module (memory (export "memory") 1))', /exports no function "_start"/],
    ['(module (func (export "_start")))', /no memory/],
    [program('(nop)', '(import "env" "foo" (func))'), /imports "env\.foo"/],
    [
      program('(nop)', '(import "wasi_snapshot_preview1" "foo" (func))'),
      /imports "wasi_snapshot_preview1\.foo"/,
    ],
    [
      program('(nop)', `${importing('fd_write')} (import "wasi_unstable" "bar" (func))`),
      /"wasi_unstable\.bar"/,
    ],
  ]
  for (const [text, message] of wrong) {
    await t.rejects(fixture.run(text), { code: 'VALIDATION_ERROR', message }, String(message))
  }
})

t.test('a program need not read its input', async (t) => {
  const fixture = createRuntime(t)
  const stdin = new Uint8Array(8 * 2 ** 20)
  t.match(await fixture.run(program('(nop)'), { stdin }), { exitCode: 0, stdout: '' })
})
