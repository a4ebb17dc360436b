import type { Process } from '#wasmer-sdk'
import type { RunRequest } from '../protocol/messages.ts'
import { Output } from './output.ts'
import { Refusal } from './refusal.ts'
import type { Sdk } from './sdk.ts'

/** What a program is. */
export interface Program extends Pick<RunRequest, 'args' | 'env'> {
  readonly module: Uint8Array
  readonly stdin: Uint8Array
}

/** What it left. */
export interface Ending {
  readonly exitCode: number
  readonly stdout: Buffer
  readonly stderr: Buffer
}

/**
 * Runs a program to its end.
 *
 * @throws Refusal for a trap, and for too much output
 */
export async function runProgram(sdk: Sdk, program: Program, outputBytes: number): Promise<Ending> {
  const { wasmer } = sdk
  const main = await wasmer.packages.load(program.module)
  const sandbox = await wasmer.sandboxes.create({ packages: [main], network: { mode: 'disabled' } })
  const command = sandbox.command(main, program.args, { env: program.env, cwd: '/' })
  const process = await command.spawn({ stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' })
  void feed(process, program.stdin)
  const output = new Output(outputBytes)
  const [ended, stdout, stderr] = await Promise.all([
    ending(process),
    output.collect(process.stdout),
    output.collect(process.stderr),
  ])
  return { exitCode: ended, stdout, stderr }
}

/** A program need not read what it is given. */
async function feed({ stdin }: Process, bytes: Uint8Array): Promise<void> {
  try {
    if (bytes.length > 0) await stdin?.write(bytes)
    await stdin?.close()
  } catch {
    // It has ended.
  }
}

async function ending(process: Process): Promise<number> {
  try {
    return (await process.wait()).exitCode
  } catch (error) {
    throw asTrap(error)
  }
}

/** The SDK puts what V8 says of a trap behind `js: `, and where it was into the next lines. */
function asTrap(error: unknown): unknown {
  const trap = /RuntimeError: (?:js: )?(.*)/.exec(String(error))?.[1]
  return trap === undefined ? error : new Refusal('UNPROCESSABLE', `The program trapped: ${trap}.`)
}
