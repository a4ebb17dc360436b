import { type Static, Type } from '@nodekeep/plugin-sdk'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  processes: Type.Integer({
    default: 4,
    minimum: 1,
    maximum: 256,
    description:
      'Maximum number of programs at a time, each in its own process. Further programs wait for their turn.',
  }),
  spares: Type.Integer({
    default: 1,
    minimum: 0,
    maximum: 16,
    description: 'Spare processes for the next programs. They are started with the first program.',
  }),
  idleMs: Type.Integer({
    default: 60_000,
    minimum: 100,
    maximum: 86_400_000,
    description: 'Spare processes end after this time without a program, in milliseconds.',
  }),
  folderMB: Type.Integer({
    default: 32,
    minimum: 1,
    maximum: 1024,
    description: 'Maximum size of the folders of a program, in MiB. They are held in memory.',
  }),
  folderEntries: Type.Integer({
    default: 10_000,
    minimum: 1,
    maximum: 1_000_000,
    description: 'Maximum number of files and folders in the folders of a program.',
  }),
})

/** The section, with its defaults. */
export type Configuration = Static<typeof configuration>
