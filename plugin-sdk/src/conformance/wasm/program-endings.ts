import assert from 'node:assert/strict'
import type { ProgramRuntime } from '../../contracts/wasm.ts'
import { assertFailsWith } from '../failures.ts'
import { assertAborted, assertFails } from './assertions.ts'
import { fileCommands } from './file-commands.ts'
import { InMemoryFiles } from './in-memory-files.ts'
import * as samples from './program-samples.ts'
import { run, runModule } from './running.ts'
import { moduleOfBytes } from './sample-module.ts'
import type { WasmCheck } from './subject.ts'

export function programEndingChecks(check: WasmCheck<ProgramRuntime>): void {
  check('what is no program is refused', async (runtime) => {
    for (const bytes of [new Uint8Array(), Buffer.from('(module)')]) {
      await assertFails(runModule(runtime, moduleOfBytes(bytes)), 'VALIDATION_ERROR', 'no module')
    }
    await assertFails(run(runtime, samples.strangeProgram), 'VALIDATION_ERROR', 'an import')
  })

  check('the exit code is that of the program', async (runtime) => {
    const { exitCode } = await run(runtime, samples.greatestExit)
    assert.equal(exitCode, 2 ** 32 - 1)
    const args = Array.from({ length: 256 }, () => 'x')
    assert.equal((await run(runtime, samples.echo, { args })).exitCode, 256)
  })

  check('a program whose bytes cannot be had fails as they do', async (runtime) => {
    const reason = new Error('gone')
    const missing = { hash: 'b'.repeat(64), size: 100, bytes: () => Promise.reject(reason) }
    await assertFailsWith(runModule(runtime, missing), reason, 'a run')
  })

  check('a program that was aborted before it began does nothing', async (runtime) => {
    const signal = AbortSignal.abort(new Error('left'))
    const files = new InMemoryFiles({ '/notes/a.txt': 'old' })
    const preopens = [{ guestPath: '/data', files, path: '/notes', writable: true }]
    const start = { args: ['w', '/data/a.txt', 'new'], preopens }
    await assertAborted(run(runtime, fileCommands, start, { signal }), signal)
    assert.equal(files.text('/notes/a.txt'), 'old')
  })

  check('an aborted program ends long before its limit', async (runtime) => {
    const controller = new AbortController()
    const { signal } = controller
    const looping = run(runtime, samples.hostileProgram, { args: ['l'] }, { signal, timeoutMs: 600_000 })
    // The other one is answered, so the first has begun or waits for something that is not coming.
    if (runtime.programsAtOnce !== 1) await run(runtime, samples.echo)
    controller.abort(new Error('left'))
    await assertAborted(looping, signal)
    await run(runtime, samples.echo)
  })
}
