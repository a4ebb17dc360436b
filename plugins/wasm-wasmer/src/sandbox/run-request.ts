import { BroadcastChannel } from 'node:worker_threads'
import { BodyReader, type Frame } from '../protocol/frame.ts'
import type { RunRequest, SandboxMessage } from '../protocol/messages.ts'
import { type Call, callChannel, writeAnswer } from './calls/shared-answer.ts'
import { wholeExitCode } from './exit-code.ts'
import { Budget } from './files/budget.ts'
import { FileCalls } from './files/file-calls.ts'
import { FileError } from './files/file-error.ts'
import { Mount } from './files/mount.ts'
import { boundMemory } from './module/bounded-memory.ts'
import { failedInstance } from './module/failed-instance.ts'
import { checkProgram } from './module/program-check.ts'
import { type Ending, runProgram } from './program.ts'
import { OutOfMemory, Refusal } from './refusal.ts'
import type { Sdk } from './sdk.ts'

/** Sends a message, with a body. */
export type Send = (message: SandboxMessage, body?: readonly Uint8Array[]) => void

/** Runs what the node asks for, and sends how it ended. */
export async function runRequest(sdk: Sdk, { header, body }: Frame, send: Send): Promise<void> {
  const request = header as RunRequest
  const { promise: refused, reject: refuse } = Promise.withResolvers<never>()
  try {
    const parts = new BodyReader(body)
    const module = parts.take(request.moduleBytes)
    const stdin = parts.take(request.stdinBytes)
    const imports = checkProgram(module)
    const bounded = boundMemory(module, request.limits.memoryBytes)
    const budget = new Budget(request.limits, refuse)
    const mounts = request.folders.map((folder) => new Mount(folder, budget, (size) => parts.take(size)))
    let exited: number | undefined
    let began = false
    answerCalls(new FileCalls(mounts), {
      // Its threads do so, too.
      beginning: () => {
        if (!began) send({ kind: 'began' })
        began = true
      },
      'instance-failed': (error) => refuse(failedInstance(error, imports)),
      exiting: ([code]) => {
        exited = Number(code)
      },
    })
    sdk.mount(mounts)
    const program = { ...request, module: bounded, stdin }
    const ending = await Promise.race([runProgram(sdk, program, request.limits.outputBytes), refused])
    sendEnding({ ...ending, exitCode: wholeExitCode(ending.exitCode, exited) }, mounts, send)
  } catch (error) {
    if (error instanceof OutOfMemory) send({ kind: 'out-of-memory' })
    else if (error instanceof Refusal) send({ kind: 'failed', code: error.code, message: error.message })
    else throw error
  }
}

/** What threads tell of programs, beside what they ask of folders. */
interface Told {
  /** That a module is about to be instantiated. */
  readonly beginning: () => void
  /** Why a module could not be instantiated: the name and message of the error. */
  readonly 'instance-failed': (args: readonly unknown[]) => void
  /** Of the code that the program exits with. */
  readonly exiting: (args: readonly unknown[]) => void
}

/** Answers the threads. */
function answerCalls(calls: FileCalls, told: Told): void {
  const channel = new BroadcastChannel(callChannel)
  const answer = (mount: number, method: string, args: readonly unknown[]): unknown => {
    if (!Object.hasOwn(told, method)) return calls.answer(mount, method, args) ?? null
    told[method as keyof Told](args)
    return null
  }
  channel.onmessage = (event: unknown) => {
    const { mount, method, args, answer: buffer } = (event as { readonly data: Call }).data
    try {
      writeAnswer(buffer, { value: answer(mount, method, args) })
    } catch (error) {
      writeAnswer(buffer, { error: error instanceof FileError ? error.code : 'EIO' })
    }
  }
  // Some calls come from this thread.
  Object.assign(globalThis, { __wasmerHostFileSystem: answer })
}

function sendEnding({ exitCode, stdout, stderr }: Ending, mounts: readonly Mount[], send: Send): void {
  const changes = mounts.map((mount) => mount.changes())
  send(
    {
      kind: 'ended',
      exitCode,
      stdoutBytes: stdout.length,
      stderrBytes: stderr.length,
      changes: changes.map(([change]) => change),
    },
    [stdout, stderr, ...changes.flatMap(([, contents]) => contents)],
  )
}
