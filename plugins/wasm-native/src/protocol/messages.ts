import type { ErrorCode, WasmFunctionExport } from '@nodekeep/plugin-sdk'

/**
 * Requests of the node. Modules have numbers, which the node gives. Calls and lists are answered, in their
 * order.
 *
 * `load`: number of the module, its bytes. `forget`: number of the module. `call`: number of the module, name,
 * arguments. `list`: number of the module.
 */
export const Request = { load: 1, call: 2, list: 3, forget: 4 } as const

/**
 * Answers of a sandbox.
 *
 * `ready`: once, first. `done`: results of a call. `listed`: functions as JSON. `failed`: index of the code in
 * `failureCodes`, message.
 */
export const Answer = { ready: 1, done: 2, listed: 3, failed: 4 } as const

/** Codes of failures, by their numbers in answers. */
export const failureCodes = ['VALIDATION_ERROR', 'NOT_FOUND', 'UNPROCESSABLE'] as const satisfies ErrorCode[]

/** A failure that the module or its caller caused. */
export interface Failure {
  readonly code: (typeof failureCodes)[number]
  readonly message: string
}

/** The functions of a module, as `listed` carries them. */
export type FunctionList = readonly WasmFunctionExport[]

/** Most bytes of an answer. The sandbox refuses to list functions that would need more. */
export const largestAnswer = 8 * 1024 * 1024
/** Most bytes of a request. V8 compiles no module of this size. */
export const largestRequest = 2 ** 30 + 1024
