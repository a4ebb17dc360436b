import { Type } from '@nodekeep/plugin-sdk'
import { defaultCacheBytes } from './open-local-backend.ts'

/** The section `storage-local`. */
export const configuration = Type.Object({
  root: Type.Optional(
    Type.String({
      minLength: 1,
      description: "The folder that the files are in. By default `files` in the node's data folder.",
    }),
  ),
  cacheBytes: Type.Integer({
    minimum: 0,
    default: defaultCacheBytes,
    description: 'Memory for small files that are read again and again, in bytes. 0 keeps none.',
  }),
})
