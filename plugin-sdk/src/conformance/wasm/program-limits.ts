import assert from 'node:assert/strict'
import { isWasmProgramError, type ProgramRuntime } from '../../contracts/wasm.ts'
import { assertAborted, assertFails, ends } from './assertions.ts'
import type { RunOptions } from './calling.ts'
import * as samples from './program-samples.ts'
import { run, textOf } from './running.ts'
import type { WasmCheck } from './subject.ts'

const timeoutMs = 300

export function programLimitChecks(check: WasmCheck<ProgramRuntime>): void {
  check('a program that never ends is stopped at its time limit', async (runtime) => {
    for (const [what, arg] of [
      ['a loop', 'l'],
      ['a long sleep', 's'],
    ] as const) {
      const attempt = run(runtime, samples.hostileProgram, { args: [arg] }, { timeoutMs })
      await assertFails(attempt, 'UNPROCESSABLE', what)
    }
    await expectWorks(runtime)
  })

  check('a program that loops does not keep others waiting', async (runtime, skip) => {
    if (runtime.programsAtOnce === 1) return skip('The runtime runs one program at a time.')
    const controller = new AbortController()
    const { signal } = controller
    const looping = run(runtime, samples.hostileProgram, { args: ['l'] }, { timeoutMs: 600_000, signal })
    await ends(expectWorks(runtime), 'a program during another one')
    controller.abort()
    await assertAborted(looping, signal)
  })

  check('a program that writes without end is stopped at its limit', async (runtime) => {
    const attempt = run(runtime, samples.hostileProgram, { args: ['f'] }, { outputBytes: 100_000 })
    await assertFails(attempt, 'UNPROCESSABLE', 'endless output')
    await expectWorks(runtime)
  })

  check('stdout and stderr share their limit, and may use all of it', async (runtime) => {
    const start = { args: ['a'.repeat(3000)], env: { WORD: 'b'.repeat(3000) } }
    const { stdout, stderr } = await run(runtime, samples.echo, start)
    const outputBytes = stdout.length + stderr.length
    const again = await run(runtime, samples.echo, start, { outputBytes })
    assert.deepEqual([again.stdout.length, again.stderr.length], [stdout.length, stderr.length])
    const attempt = run(runtime, samples.echo, start, { outputBytes: outputBytes - 1 })
    await assertFails(attempt, 'UNPROCESSABLE', 'one byte too many on both together')
  })

  check('a program that takes memory without end has no more than its limit', async (runtime) => {
    const memoryBytes = 8 * 2 ** 20
    const attempt = run(runtime, samples.hostileProgram, { args: ['g'] }, { memoryBytes })
    const ended = await attempt.catch(async () => {
      await assertFails(attempt, 'UNPROCESSABLE', 'endless memory')
      return { exitCode: 0 }
    })
    assert.ok(ended.exitCode <= 8, `it had ${ended.exitCode} MiB`)
    await expectWorks(runtime)
  })

  check('what a program wrote before it trapped or reached a limit comes with the error', async (runtime) => {
    const failed = async (arg: string, options: RunOptions = {}) => {
      const attempt = run(runtime, samples.hostileProgram, { args: [arg] }, options)
      const error = await assertFails(attempt, 'UNPROCESSABLE', arg)
      assert.ok(isWasmProgramError(error), `the error of "${arg}" is a WasmProgramError`)
      return { stdout: textOf(error.stdout), stderr: textOf(error.stderr) }
    }
    const written = { stdout: 'out', stderr: 'why' }
    assert.deepEqual(await failed('t'), written, 'before a trap')
    // On a busy machine, a program may begin late.
    let looping = await failed('l', { timeoutMs })
    for (let factor = 2; looping.stdout === '' && factor <= 32; factor *= 2) {
      looping = await failed('l', { timeoutMs: timeoutMs * factor })
    }
    assert.deepEqual(looping, written, 'before the time limit')
    const outputBytes = 10_000
    const { stdout, stderr } = await failed('f', { outputBytes })
    assert.ok(stdout.startsWith('out'), 'before the output limit')
    assert.ok(stdout.length + stderr.length <= outputBytes, 'the output has at most its limit')
  })

  check('a program that traps is told', async (runtime) => {
    await assertFails(run(runtime, samples.hostileProgram, { args: ['t'] }), 'UNPROCESSABLE', 'a trap')
    await expectWorks(runtime)
  })
}

async function expectWorks(runtime: ProgramRuntime): Promise<void> {
  const { stdout } = await run(runtime, samples.echo, { stdin: Buffer.from('works') })
  assert.match(textOf(stdout), /\0works$/)
}
