import { Type } from '@nodekeep/plugin-sdk'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  processes: Type.Integer({
    default: 8,
    minimum: 3,
    maximum: 256,
    description:
      'Most sandbox processes at once. Short calls share one; a call that takes long has one of its own.',
  }),
  idleMs: Type.Integer({
    default: 60_000,
    minimum: 100,
    maximum: 86_400_000,
    description: 'A sandbox process that nobody needed for so long ends, in milliseconds.',
  }),
  cachedModules: Type.Integer({
    default: 64,
    minimum: 1,
    maximum: 10_000,
    description: 'Compiled modules that each sandbox process keeps at most.',
  }),
  cachedBytes: Type.Integer({
    default: 33_554_432,
    minimum: 0,
    maximum: 1_073_741_824,
    description: 'Bytes of modules that each sandbox process keeps compiled at most. One is always kept.',
  }),
})
