import type { Process } from '#wasmer-sdk'
import type { RunRequest } from '../protocol/messages.ts'
import { Output } from './output.ts'
import { Refusal } from './refusal.ts'
import type { Sdk } from './sdk.ts'

/** A program that does nothing: `(module (memory (export "memory") 0) (func (export "_start")))`. */
const nothing = Buffer.from(
  '0061736d0100000001040160000003020100050301000007130206' + '6d656d6f72790200065f737461727400000a040102000b',
  'hex',
)

/** A program and its input. */
interface Program extends Pick<RunRequest, 'args' | 'env'> {
  readonly module: Uint8Array
  readonly stdin: Uint8Array
}

/** Makes the SDK start its threads, which it does with the first program. */
export async function warmUp(sdk: Sdk): Promise<void> {
  const program = { module: nothing, args: [], env: {}, stdin: nothing.subarray(0, 0) }
  await runProgram(sdk, program, new Output(() => {}))
}

/**
 * Runs a program to its end, and passes its output on.
 *
 * @returns the exit code that the SDK tells
 * @throws Refusal for a trap
 */
export async function runProgram(sdk: Sdk, program: Program, output: Output): Promise<number> {
  const { wasmer } = sdk
  const main = await wasmer.packages.load(program.module)
  const sandbox = await wasmer.sandboxes.create({ packages: [main], network: { mode: 'disabled' } })
  const command = sandbox.command(main, program.args, { env: program.env, cwd: '/' })
  const process = await command.spawn({ stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' })
  void feed(process, program.stdin)
  const [ended] = await Promise.allSettled([
    process.wait(),
    output.pass('stdout', process.stdout),
    output.pass('stderr', process.stderr),
  ])
  if (ended.status === 'fulfilled') return ended.value.exitCode
  throw asTrap(ended.reason)
}

/** Writes the input, which the program need not read. */
async function feed({ stdin }: Process, bytes: Uint8Array): Promise<void> {
  try {
    if (bytes.length > 0) await stdin?.write(bytes)
    await stdin?.close()
  } catch {
    // It has ended.
  }
}

/** The SDK puts V8's message of a trap behind `js: `, and its stack into the next lines. */
function asTrap(error: unknown): unknown {
  const trap = /RuntimeError: (?:js: )?(.*)/.exec(String(error))?.[1]
  return trap === undefined ? error : new Refusal('UNPROCESSABLE', `The program trapped: ${trap}.`)
}
