import type { ErrorCode, WasmFunctionExport } from '@nodekeep/plugin-sdk'

/**
 * What the sandbox is told. Modules have numbers, which the node gives; steps are answered in their order.
 *
 * `load`: number of the module, its bytes. `call`: number of the module, name, arguments. `list`: number of the
 * module. `forget`: number of the module; it has no answer.
 */
export const Request = { load: 1, call: 2, list: 3, forget: 4 } as const

/**
 * What it answers. `ready`: once, first. Every other answer begins with the microseconds that the step took, on the
 * processor where it could not wait for anything else.
 *
 * `done`: results; of a module that was loaded there are none. `listed`: JSON. `failed`: place of the code in
 * `failureCodes`, message.
 */
export const Answer = { ready: 1, done: 2, listed: 3, failed: 4 } as const

/** The codes that the sandbox answers with, by their numbers. */
export const failureCodes = ['VALIDATION_ERROR', 'NOT_FOUND', 'UNPROCESSABLE'] as const satisfies ErrorCode[]

/** What goes wrong in a sandbox, and is the module's or the caller's doing. */
export interface Failure {
  readonly code: (typeof failureCodes)[number]
  readonly message: string
}

/** What `listed` carries. */
export type FunctionList = readonly WasmFunctionExport[]

/** Bytes that an answer has at most. A list of functions that would be longer is refused in the sandbox. */
export const largestAnswer = 8 * 1024 * 1024
/** Bytes that a request has at most. What V8 compiles at all is shorter. */
export const largestRequest = 2 ** 30 + 1024
