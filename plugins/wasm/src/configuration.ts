import { type Static, Type, type WasmLimits } from '@nodekeep/plugin-sdk'

const megabyte = 1024 * 1024

/** The section `wasm` of the configuration. */
export const configuration = Type.Object({
  timeoutMs: Type.Integer({
    default: 5000,
    minimum: 1,
    maximum: 3600000,
    description: 'Maximum time of one run, in milliseconds.',
  }),
  memoryMB: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 65536,
    description:
      'Maximum memory of one run, in MiB: all linear memories and tables of a function together, or each memory of a program.',
  }),
  moduleMB: Type.Integer({
    default: 16,
    minimum: 1,
    maximum: 256,
    description: 'Maximum size of a module, in MiB.',
  }),
  outputKB: Type.Integer({
    default: 1024,
    minimum: 1,
    maximum: 65536,
    description: 'Maximum output of a program, stdout and stderr together, in KiB.',
  }),
  queue: Type.Integer({
    default: 1024,
    minimum: 0,
    maximum: 100000,
    description: 'Maximum number of calls that wait for their turn. Further calls are answered with 429.',
  }),
  queuePerUser: Type.Integer({
    default: 256,
    minimum: 0,
    maximum: 100000,
    description: 'Maximum number of calls of one user that wait for their turn.',
  }),
})

/** The section `wasm`, with its defaults. */
type Configuration = Static<typeof configuration>

/** Maximum size of a module, in bytes. */
export function moduleBytesOf({ moduleMB }: Configuration): number {
  return moduleMB * megabyte
}

/** The limits of each run. */
export function limitsOf({ timeoutMs, memoryMB, outputKB }: Configuration): WasmLimits {
  return { timeoutMs, memoryBytes: memoryMB * megabyte, outputBytes: outputKB * 1024 }
}
