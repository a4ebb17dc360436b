import { ByteSize, Type } from '@nodekeep/plugin-sdk'

/** The section `search` of the configuration. */
export const configuration = Type.Object({
  maxFileSize: ByteSize({
    default: 32 * 1024 ** 2,
    minimum: 1,
    maximum: 1024 ** 3,
    description: 'The most bytes of a file whose words can be found. Larger files are found by their names.',
  }),
})
