import { type Static, Type } from '@nodekeep/plugin-sdk'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  processes: Type.Integer({
    default: 4,
    minimum: 1,
    maximum: 256,
    description:
      'Most programs at once. Each has a process of its own; further ones wait, for each user in turn.',
  }),
  spares: Type.Integer({
    default: 1,
    minimum: 0,
    maximum: 16,
    description: 'Processes that are kept ready for the next programs, once there was one.',
  }),
  idleMs: Type.Integer({
    default: 60_000,
    minimum: 100,
    maximum: 86_400_000,
    description: 'A spare process that nobody needed for so long ends, in milliseconds.',
  }),
  folderMB: Type.Integer({
    default: 32,
    minimum: 1,
    maximum: 1024,
    description: 'Most that a program can have in its folders, in MiB. All of it is held in memory.',
  }),
  folderEntries: Type.Integer({
    default: 10_000,
    minimum: 1,
    maximum: 1_000_000,
    description: 'Most files and folders that a program can have in its folders.',
  }),
})

/** The section as it is read. */
export type Configuration = Static<typeof configuration>
