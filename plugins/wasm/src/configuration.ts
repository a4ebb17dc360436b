import { type Static, Type, type WasmLimits } from '@nodekeep/plugin-sdk'

const megabyte = 1024 * 1024

/** The section `wasm` of the configuration. */
export const configuration = Type.Object({
  timeoutMs: Type.Integer({
    default: 5000,
    minimum: 1,
    maximum: 3600000,
    description: 'Longest time for one run, in milliseconds.',
  }),
  memoryMB: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 65536,
    description:
      'Most memory of one run, in MiB: of a function, all its linear memories and tables together; of a program, each of its memories.',
  }),
  moduleMB: Type.Integer({
    default: 16,
    minimum: 1,
    maximum: 256,
    description: 'Largest module that is run, in MiB.',
  }),
  outputKB: Type.Integer({
    default: 1024,
    minimum: 1,
    maximum: 65536,
    description: 'Most that a program may write to stdout and stderr together, in KiB.',
  }),
  parallel: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 4096,
    description: 'Most runs at a time.',
  }),
  parallelPerUser: Type.Integer({
    default: 32,
    minimum: 1,
    maximum: 4096,
    description:
      'Most runs of one user at a time, and no more than are left free. Who has long ones is given fewer.',
  }),
  queue: Type.Integer({
    default: 1024,
    minimum: 0,
    maximum: 100000,
    description: 'Most calls that wait for their turn. Further ones are refused.',
  }),
  queuePerUser: Type.Integer({
    default: 256,
    minimum: 0,
    maximum: 100000,
    description: 'Most calls of one user that wait for their turn.',
  }),
})

/** The section as it is read. */
export type Configuration = Static<typeof configuration>

/** Largest module, in bytes. */
export function moduleBytesOf({ moduleMB }: Configuration): number {
  return moduleMB * megabyte
}

/** The bounds of each run. */
export function limitsOf({ timeoutMs, memoryMB, outputKB }: Configuration): WasmLimits {
  return { timeoutMs, memoryBytes: memoryMB * megabyte, outputBytes: outputKB * 1024 }
}
