import type { Process } from '#wasmer-sdk'
import type { RunRequest } from '../protocol/messages.ts'
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

/** The result of a program. */
export interface Ending {
  readonly exitCode: number
  readonly stdout: Buffer
  readonly stderr: Buffer
}

/** Makes the SDK start its threads, which it does with the first program. */
export async function warmUp(sdk: Sdk): Promise<void> {
  await runProgram(sdk, { module: nothing, args: [], env: {}, stdin: nothing.subarray(0, 0) }, 0)
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

/** Writes the input, which the program need not read. */
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

/** Collects the output of a program, up to a limit for all streams together. */
class Output {
  readonly #limit: number
  #bytes = 0

  /** @param limit bytes */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** @throws Refusal when the limit is reached */
  async collect(stream: AsyncIterable<Uint8Array> | null): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    for await (const chunk of stream ?? []) {
      this.#bytes += chunk.length
      if (this.#bytes > this.#limit) {
        const kibibytes = Math.floor(this.#limit / 1024)
        throw new Refusal('UNPROCESSABLE', `The output limit of ${kibibytes} KiB was reached.`)
      }
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}

/** The SDK puts V8's message of a trap behind `js: `, and its stack into the next lines. */
function asTrap(error: unknown): unknown {
  const trap = /RuntimeError: (?:js: )?(.*)/.exec(String(error))?.[1]
  return trap === undefined ? error : new Refusal('UNPROCESSABLE', `The program trapped: ${trap}.`)
}
