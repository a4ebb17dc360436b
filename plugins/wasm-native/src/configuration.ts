import { ByteSize, Type } from '@nodekeep/plugin-sdk'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  processes: Type.Integer({
    default: 4,
    minimum: 1,
    maximum: 256,
    description:
      'Maximum number of calls at a time, each in its own sandbox process. One more process is kept as a spare.',
  }),
  idleMs: Type.Integer({
    default: 60_000,
    minimum: 100,
    maximum: 86_400_000,
    description: 'A sandbox process ends after this time without a call, in milliseconds.',
  }),
  cachedModules: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 10_000,
    description: 'Maximum number of compiled modules that each sandbox process keeps.',
  }),
  cachedBytes: ByteSize({
    default: 33_554_432,
    minimum: 0,
    maximum: 1_073_741_824,
    description:
      'Maximum bytes of modules that each sandbox process keeps compiled. One module is always kept.',
  }),
})
