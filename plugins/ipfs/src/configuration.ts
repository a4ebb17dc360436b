import { ByteSize, Type } from '@nodekeep/plugin-sdk'

/** The section `ipfs` of the configuration. */
export const configuration = Type.Object({
  publishing: Type.Object(
    {
      maxEntries: Type.Integer({
        default: 100_000,
        minimum: 1,
        maximum: 10_000_000,
        description: 'The most files and folders in a folder that is published.',
      }),
      maxDepth: Type.Integer({
        default: 64,
        minimum: 1,
        maximum: 1000,
        description: 'The most folders within each other in a folder that is published.',
      }),
      maxBytes: ByteSize({
        default: 100 * 1024 ** 3,
        description: 'The most bytes of a file or folder that is published.',
      }),
      maxPublications: Type.Integer({
        default: 10_000,
        minimum: 1,
        maximum: 1_000_000,
        description: 'The most publications of a user.',
      }),
    },
    { default: {} },
  ),
  maxImportBytes: ByteSize({
    default: 1024 ** 3,
    description: 'The most bytes of a CAR that is imported, and of the files in it.',
  }),
})
