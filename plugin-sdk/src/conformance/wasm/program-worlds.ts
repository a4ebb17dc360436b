import assert from 'node:assert/strict'
import type { ProgramRuntime, WasmProgramRun } from '../../contracts/wasm.ts'
import * as samples from './program-samples.ts'
import { run, textOf } from './running.ts'
import type { WasmCheck } from './subject.ts'

export function programWorldChecks(check: WasmCheck<ProgramRuntime>): void {
  check('a program has the arguments, environment and input that it was given', async (runtime) => {
    const args = ['one', '', 'two words', 'größe ⚖', '--flag=\n"']
    const env = { EMPTY: '', WORD: 'größe', LINES: 'a=b\nc' }
    await expectEcho(runtime, { args, env, stdin: Buffer.from('to be read\n') })
  })

  check('a program may be given nothing, and sees nothing of the one before', async (runtime) => {
    await expectEcho(runtime, { args: ['one'], env: { WORD: 'x' }, stdin: Buffer.from('read') })
    await expectEcho(runtime, {})
  })

  check('bytes of all kinds go in and out, and many of them', async (runtime) => {
    const stdin = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7 + (index >> 8)) & 255))
    await expectEcho(runtime, { stdin })
  })

  check('a program sees nothing of the environment of its host', async (runtime) => {
    process.env.NODEKEEP_CONFORMANCE = 'secret'
    try {
      await expectEcho(runtime, { env: { OWN: '1' } })
    } finally {
      delete process.env.NODEKEEP_CONFORMANCE
    }
  })

  check('programs at the same time have worlds of their own', async (runtime) => {
    const numbers = Array.from({ length: 4 }, (_, index) => String(index))
    await Promise.all(
      numbers.map((number) =>
        expectEcho(runtime, { args: [number], env: { NUMBER: number }, stdin: Buffer.from(number) }),
      ),
    )
  })
}

/** The exit code of the program is how many arguments it has: one that is not 0 is no failure. */
async function expectEcho(runtime: ProgramRuntime, start: Partial<WasmProgramRun>): Promise<void> {
  const { args = [], env = {}, stdin = new Uint8Array() } = start
  const { exitCode, stdout, stderr } = await run(runtime, samples.echo, start, { outputBytes: 2 ** 20 })
  const output = Buffer.from(stdout)
  const name = output.indexOf(0)
  assert.ok(name >= 0, 'the first argument is the name of the program')
  const expected = Buffer.concat([...args.map((arg) => Buffer.from(`${arg}\0`)), stdin])
  assert.ok(output.subarray(name + 1).equals(expected), 'arguments and input come as they were given')
  const variables = textOf(stderr).split('\0').slice(0, -1).sort()
  assert.deepEqual(
    variables,
    Object.entries(env)
      .map(([key, value]) => `${key}=${value}`)
      .sort(),
  )
  assert.equal(exitCode, args.length)
}
