import { BroadcastChannel } from 'node:worker_threads'
import { BodyReader, type Frame } from '@nodekeep/plugin-sdk/sandbox-frames'
import type { RunRequest } from '../protocol/messages.ts'
import { type Call, callChannel, writeAnswer } from './calls/shared-answer.ts'
import { Budget } from './files/budget.ts'
import { FileCalls } from './files/file-calls.ts'
import { FileError } from './files/file-error.ts'
import { Mount } from './files/mount.ts'
import { boundMemory } from './module/bounded-memory.ts'
import { checkProgram, failedInstance } from './module/program-check.ts'
import { Output, type Send } from './output.ts'
import { runProgram } from './program.ts'
import { OutOfMemory, Refusal } from './refusal.ts'
import type { Sdk } from './sdk.ts'

/** Runs the program of a request, and sends how it ended. */
export async function runRequest(sdk: Sdk, { header, body }: Frame, send: Send): Promise<void> {
  const request = header as RunRequest
  const output = new Output(send)
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
    const calls = new FileCalls(mounts)
    answerCalls(calls, {
      // Threads of the program are instances, too.
      beginning: () => {
        if (!began) send({ kind: 'began' })
        began = true
      },
      'instance-failed': (error) => refuse(failedInstance(error, imports)),
      exiting: ([code]) => {
        exited = Number(code)
      },
      removeFolder: ([path]) => calls.removeFolder(String(path)),
      timesOf: ([path]) => calls.timesOf(String(path)),
      setTimes: ([path, accessed, modified]) =>
        calls.setTimes(String(path), [accessed as string | null, modified as string | null]),
    })
    sdk.mount(mounts)
    const program = { ...request, module: bounded, stdin }
    const ended = await Promise.race([runProgram(sdk, program, output), refused])
    output.flush()
    sendEnding(wholeExitCode(ended, exited), mounts, send)
  } catch (error) {
    output.flush()
    if (error instanceof OutOfMemory) send({ kind: 'out-of-memory' })
    else if (error instanceof Refusal) send({ kind: 'failed', code: error.code, message: error.message })
    else throw error
  }
}

/** Calls of the threads that are not those of the SDK for folders: reports about programs, and questions about paths. */
interface OwnCalls {
  /** A module is about to be instantiated. */
  readonly beginning: () => void
  /** A module could not be instantiated: the name and message of the error. */
  readonly 'instance-failed': (args: readonly unknown[]) => void
  /** The program exits: its code. */
  readonly exiting: (args: readonly unknown[]) => void
  readonly removeFolder: (args: readonly unknown[]) => void
  readonly timesOf: (args: readonly unknown[]) => unknown
  readonly setTimes: (args: readonly unknown[]) => void
}

/** Answers the calls of the SDK's threads. */
function answerCalls(calls: FileCalls, own: OwnCalls): void {
  const channel = new BroadcastChannel(callChannel)
  const answer = (mount: number, method: string, args: readonly unknown[]): unknown => {
    const value = Object.hasOwn(own, method)
      ? own[method as keyof OwnCalls](args)
      : calls.answer(mount, method, args)
    return value ?? null
  }
  channel.onmessage = (event: unknown) => {
    const { mount, method, args, answer: buffer } = (event as { readonly data: Call }).data
    try {
      writeAnswer(buffer, { value: answer(mount, method, args) })
    } catch (error) {
      writeAnswer(buffer, { error: error instanceof FileError ? error.code : 'EIO' })
    }
  }
  // Some calls come from this thread itself.
  Object.assign(globalThis, { __wasmerHostFileSystem: answer })
}

function sendEnding(exitCode: number, mounts: readonly Mount[], send: Send): void {
  const changes = mounts.map((mount) => mount.changes())
  send(
    { kind: 'ended', exitCode, changes: changes.map(([change]) => change) },
    changes.flatMap(([, contents]) => contents),
  )
}

/**
 * The exit code of a program, of 32 bits. The SDK's own has only the last 8 of them for certain.
 *
 * @param told by the SDK
 * @param exited the last code that a thread of the program exited with
 */
function wholeExitCode(told: number, exited: number | undefined): number {
  return exited !== undefined && (exited & 255) === (told & 255) ? exited : told
}
