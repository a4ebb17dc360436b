import { Type } from '@nodekeep/plugin-sdk'

const path = Type.String({ description: 'Absolute path, such as "/photos/cat.jpg".' })

/** `?path=…` */
export const pathQuery = Type.Object({ path })

/** The bytes of a file, in the OpenAPI document. */
export const fileBytes = { type: 'string', format: 'binary' }

/** The form of `POST /write`, in the OpenAPI document. */
export const uploadForm = Type.Object({ path, file: Type.Unsafe<string>(fileBytes) })

/** `{ "path": … }` */
export const pathBody = Type.Object({ path }, { additionalProperties: false })

/** The body of `POST /delete`. */
export const deleteBody = Type.Object(
  {
    path,
    onlyIfEmpty: Type.Optional(
      Type.Boolean({ description: 'Deletes only an empty folder, and refuses anything else.' }),
    ),
  },
  { additionalProperties: false },
)

/** The body of `POST /move` and `POST /api/files/copy`. */
export const transferBody = Type.Object(
  {
    source: path,
    destination: path,
    overwrite: Type.Optional(Type.Boolean({ description: 'Replaces a file or folder at the destination.' })),
  },
  { additionalProperties: false },
)

const type = Type.Union([Type.Literal('file'), Type.Literal('directory')])
const time = Type.String({ format: 'date-time' })

/** File metadata (interface, "File metadata"). */
export const fileMetadata = Type.Object({
  name: Type.String(),
  path,
  type,
  size: Type.Integer(),
  modified: time,
  created: time,
})

/** The header of an answer about a file or folder, in the OpenAPI document. */
export const entityTagHeader = {
  etag: Type.String({ description: 'The entity tag of a file. Folders have none.' }),
}

/** A listing (interface, "Directory entry"). */
export const directoryEntries = Type.Array(
  Type.Object({ name: Type.String(), type, size: Type.Optional(Type.Integer()), modified: time }),
)

/** The answer to a change with a path. */
export const changedPath = Type.Object({ success: Type.Boolean(), path })

/** The headers of a write. */
export const uploadHeaders = Type.Object({
  'x-oc-mtime': Type.Optional(
    Type.String({ description: 'The time of the file, in seconds since 1970, such as "1700000000".' }),
  ),
})

/** The answer to a write, a move or a copy. */
export const transferredPath = { ...changedPath, headers: entityTagHeader }

/** The answer to a removal. */
export const success = Type.Object({ success: Type.Boolean() })
