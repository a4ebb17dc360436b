import { changeGroupPattern, changeHeaders, Type, undoHeader } from '@nodekeep/plugin-sdk'

/** Changes in one answer or event. */
export const mostChanges = 1000

/** The longest wait for a change, in seconds. Proxies close silent connections after a minute. */
const longestWait = 50

const path = Type.String({ description: 'Absolute path, such as "/photos/cat.jpg".' })

/** `?path=…` */
export const pathQuery = Type.Object({ path })

/** The bytes of a file, in the OpenAPI document. */
export const fileBytes = { type: 'string', format: 'binary' }

/** Bytes of a form besides its file: boundaries, headers of the parts, the path. */
export const formOverhead = 128 * 1024

/** The form of `POST /write`, in the OpenAPI document. */
export const uploadForm = Type.Object({ path, file: Type.Unsafe<string>(fileBytes) })

/** `{ "path": … }` */
export const pathBody = Type.Object({ path }, { additionalProperties: false })

/** The body of `POST /api/files/archive`. */
export const selectionBody = Type.Object(
  { paths: Type.Array(path, { minItems: 1, description: 'At most 10,000 files and folders.' }) },
  { additionalProperties: false },
)

/** The body of `POST /delete`. */
export const deleteBody = Type.Object(
  {
    path,
    onlyIfEmpty: Type.Optional(
      Type.Boolean({ description: 'Deletes only an empty folder, and refuses anything else.' }),
    ),
    permanent: Type.Optional(
      Type.Boolean({
        description: 'Deletes for good, not into the trash. An API token needs the scope "files:purge" too.',
      }),
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

/** The header of an answer to a change, in the OpenAPI document. */
const undoHeaders = {
  [undoHeader]: Type.String({
    description: 'The group of the change, which `POST /api/files/undo` takes back. Missing if it cannot.',
  }),
}

/** The header of an answer to a deletion: see {@link deletionHeaders}. */
export const deletedHeader = 'x-nodekeep-deleted'

const deletionHeaders = {
  ...undoHeaders,
  [deletedHeader]: Type.String({ description: '"trash", or "for-good" if it is not kept.' }),
}

/** A listing (interface, "Directory entry"). */
export const directoryEntries = Type.Array(
  Type.Object({ name: Type.String(), type, size: Type.Optional(Type.Integer()), modified: time }),
)

const pathAnswer = Type.Object({ success: Type.Boolean(), path })

/** The answer to a change with a path. */
export const changedPath = { ...pathAnswer, headers: undoHeaders }

/** The headers of a write. */
export const uploadHeaders = Type.Object({
  ...changeHeaders.properties,
  'x-oc-mtime': Type.Optional(
    Type.String({ description: 'The time of the file, in seconds since 1970, such as "1700000000".' }),
  ),
})

/** The answer to a write, a move or a copy. */
export const transferredPath = { ...pathAnswer, headers: { ...entityTagHeader, ...undoHeaders } }

/** `?path=…&cursor=…&limit=…` */
export const listQuery = Type.Object({
  path,
  cursor: Type.Optional(
    Type.String({
      maxLength: 400,
      description: 'The cursor of the page before. Without it, the first page.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: 'The most entries of the page, 1,000 by default.',
    }),
  ),
})

/** A page of a folder. */
export const folderPage = Type.Object({
  entries: Type.Array(
    Type.Object({
      name: Type.String(),
      type,
      size: Type.Optional(Type.Integer({ description: 'Bytes of a file.' })),
      revision: Type.Optional(Type.String({ description: 'The entity tag of a file, without its quotes.' })),
      modified: time,
      created: Type.Optional(time),
    }),
    { description: 'Sorted by name. Files have all of the properties.' },
  ),
  cursor: Type.Union([Type.String(), Type.Null()], {
    description: 'The cursor of the next page, null after the last one.',
  }),
  maxFileSize: Type.Integer({ description: 'Bytes of the largest file that the node takes.' }),
  keeps: Type.Object(
    {
      trash: Type.Boolean({ description: 'Deleted entries of this folder go to the trash.' }),
      versions: Type.Boolean({ description: 'The content that a write replaces becomes a version.' }),
    },
    { description: 'The mount of the folder keeps this. All else is gone for good.' },
  ),
})

/** `?after=…&wait=…&limit=…` */
export const changesQuery = Type.Object({
  after: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'The cursor of an earlier answer. Without it, the newest change.',
    }),
  ),
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: longestWait,
      description: 'Seconds to wait for a change, 0 by default.',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: mostChanges, description: 'The most changes.' })),
})

const changeMaker = Type.Object(
  {
    kind: Type.Union([
      Type.Literal('session'),
      Type.Literal('token'),
      Type.Literal('program'),
      Type.Literal('plugin'),
    ]),
    id: Type.String({
      description: 'Of the session, the API token or the plugin; the SHA-256 of a WebAssembly program.',
    }),
    name: Type.Optional(
      Type.String({
        description: 'The program that signed in, the name of the API token, or the file of the program.',
      }),
    ),
    user: Type.Optional(
      Type.String({
        description: 'The UUID of the user who asked for it. Missing if a plugin did it by itself.',
      }),
    ),
  },
  {
    description: 'The maker of the change. Missing for other programs, and for changes of a former version.',
  },
)

const fileChange = Type.Object({
  op: Type.Union([
    Type.Literal('write'),
    Type.Literal('mkdir'),
    Type.Literal('delete'),
    Type.Literal('move'),
  ]),
  path,
  source: Type.Optional(Type.String({ description: 'The former path of a move.' })),
  size: Type.Optional(Type.Integer({ description: 'Bytes of a written file.' })),
  revision: Type.Optional(Type.String({ description: 'The entity tag without its quotes.' })),
  hash: Type.Optional(Type.String({ description: 'SHA-256 of the content, if it is known.' })),
  by: Type.Optional(
    Type.String({
      description: 'The device that made the change, if it gave a name; "disk" for another program.',
    }),
  ),
  maker: Type.Optional(changeMaker),
  group: Type.Optional(
    Type.String({ description: 'Changes with the same group belong together, such as those of one upload.' }),
  ),
  at: time,
})

/** `?path=…&limit=…` */
export const newestChangesQuery = Type.Object({
  path: Type.Optional(
    Type.String({ description: 'A file, or a folder with what is in it. Without it, all files.' }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: mostChanges, description: 'The most changes, 20 by default.' }),
  ),
})

/** The newest changes. */
export const newestChanges = Type.Object({
  changes: Type.Array(fileChange, {
    description: 'Newest first. Only the newest 10,000 changes of your files are looked through.',
  }),
})

/** The changes after a cursor, or the end of a cursor that is no longer valid. */
export const changesPage = Type.Object({
  reset: Type.Optional(
    Type.Literal(true, {
      description: 'The cursor is not valid any more: list the files again, and go on with the new cursor.',
    }),
  ),
  changes: Type.Optional(Type.Array(fileChange, { description: 'Oldest first. Missing with "reset".' })),
  cursor: Type.String({ description: 'The position after these changes.' }),
  stalled: Type.Optional(
    Type.Object(
      { mount: Type.String(), since: time },
      { description: 'A mount that does not answer holds later changes back.' },
    ),
  ),
})

const bytes = Type.Integer({ minimum: 0, description: 'Bytes of all files below it.' })
const entries = Type.Integer({ minimum: 0, description: 'Files and folders below it.' })
const isComplete = Type.Boolean({
  description: 'False while the node is still counting: until then, the numbers are too small.',
})
const space = Type.Union(
  [
    Type.Object({
      free: Type.Integer({ minimum: 0, description: 'Bytes that the node may still store.' }),
      total: Type.Integer({ minimum: 0, description: 'All bytes.' }),
    }),
    Type.Null(),
  ],
  { description: 'The room of the storage, null if it has no limit or does not tell it now.' },
)

const quota = Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
  description: 'Bytes that the user may store; null for no limit.',
})
const kept = Type.Object(
  {
    trash: Type.Integer({ minimum: 0, description: 'Bytes of deleted files and folders.' }),
    versions: Type.Integer({ minimum: 0, description: 'Bytes of former versions.' }),
  },
  {
    description:
      'The room that the trash and former versions take, of all folders. It counts toward the quota, but not as `bytes`.',
  },
)
const hasOwnQuota = Type.Boolean({ description: 'Whether the user has another quota than all users.' })

/** `:uuid` */
export const quotaParams = Type.Object({ uuid: Type.String({ format: 'uuid' }) })

/** The quota that the owner sets. */
export const newQuota = Type.Object(
  {
    quota: Type.Union(
      [Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), Type.String({ maxLength: 100 })],
      {
        description:
          'Bytes, or a text: a size such as "50 GB", "none" for no limit, "default" for the quota of all users.',
      },
    ),
  },
  { additionalProperties: false },
)

/** The quota that a user has. */
export const userQuota = Type.Object({
  uuid: Type.String({ format: 'uuid' }),
  username: Type.String(),
  quota,
  hasOwnQuota,
})

/** `?path=…` */
export const usageQuery = Type.Object({
  path: Type.Optional(Type.String({ description: 'A folder. Without it, all files.' })),
})

/** How much room a folder takes. */
export const folderUsage = Type.Object({
  path,
  bytes,
  entries,
  isComplete,
  folders: Type.Array(Type.Object({ name: Type.String(), path, bytes, entries }), {
    description: 'The largest folders in it, largest first. At most 100.',
  }),
  space: Type.Union(space.anyOf, {
    description:
      'The room of the storage, null for a folder on several storages, or if its storage does not tell it.',
  }),
  kept,
  quota: Type.Union(
    [
      Type.Object({
        bytes: Type.Integer({ minimum: 0, description: 'Bytes that you may store.' }),
        taken: Type.Integer({
          minimum: 0,
          description:
            'Bytes that you take of it: of all files, the trash, former versions, and uploads that are not complete.',
        }),
      }),
      Type.Null(),
    ],
    { description: 'How much you may store; null for no limit.' },
  ),
})

/** How much room the files of all users take. */
export const allUsage = Type.Object({
  users: Type.Array(
    Type.Object({
      uuid: Type.String({ format: 'uuid' }),
      username: Type.String(),
      bytes,
      entries,
      kept,
      isComplete,
      quota,
      hasOwnQuota,
      mounts: Type.Array(Type.Object({ mount: Type.String(), bytes, entries, isComplete })),
    }),
    { description: 'Largest first.' },
  ),
  mounts: Type.Array(
    Type.Object({
      mount: Type.String({ description: 'Its path.' }),
      storage: Type.String({ description: 'The name of the storage backend.' }),
      bytes,
      entries,
      space,
    }),
  ),
})

/** The answer to a removal. */
export const success = Type.Object({ success: Type.Boolean() })

/** The answer to a deletion. */
export const deleted = { ...success, headers: deletionHeaders }

const id = Type.String({ minLength: 1, maxLength: 40 })

const page = {
  cursor: Type.Optional(
    Type.String({
      maxLength: 40,
      description: 'The cursor of the page before. Without it, the page of the newest.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: 'The most items of the page, 100 by default.' }),
  ),
}

const cursorOfNext = Type.Union([Type.String(), Type.Null()], {
  description: 'The cursor of the next page, null after the last one.',
})

/** `?cursor=…&limit=…` */
export const trashQuery = Type.Object(page)

/** A page of the trash. */
export const trashPage = Type.Object({
  items: Type.Array(
    Type.Object({
      id,
      path: Type.String({ description: 'The path that it had.' }),
      type,
      size: Type.Integer({ description: 'Bytes, of a folder of everything in it.' }),
      entries: Type.Integer({ description: 'Files and folders in it.' }),
      deleted: time,
      maker: Type.Optional(changeMaker),
    }),
    { description: 'Newest first.' },
  ),
  cursor: cursorOfNext,
  days: Type.Integer({ description: 'Days after which an item is deleted for good.' }),
})

/** The body of `POST /api/files/trash/restore`. */
export const restoreBody = Type.Object(
  { id, destination: Type.Optional(Type.String({ description: 'Another path than the former one.' })) },
  { additionalProperties: false },
)

/** `{ "id": … }` */
export const itemBody = Type.Object({ id }, { additionalProperties: false })

/** `?path=…&cursor=…&limit=…` */
export const versionsQuery = Type.Object({ path, ...page })

/** A page of the versions of a file. */
export const versionsPage = Type.Object({
  versions: Type.Array(
    Type.Object({
      id,
      size: Type.Integer({ description: 'Bytes.' }),
      revision: Type.String({ description: 'The entity tag without its quotes.' }),
      modified: time,
      replaced: time,
      maker: Type.Optional(
        Type.Object(changeMaker.properties, {
          description: 'The maker of the change that replaced it. Missing if that is not known.',
        }),
      ),
      sha256: Type.Optional(Type.String({ description: 'SHA-256 of the content, if it is known.' })),
    }),
    { description: 'Newest first. The present content is not among them.' },
  ),
  cursor: cursorOfNext,
})

/** `?path=…&id=…` */
export const versionQuery = Type.Object({ path, id })

/** `{ "path": …, "id": … }` */
export const versionBody = Type.Object({ path, id }, { additionalProperties: false })

/** The header of a change that always has a group of its own. */
export const deviceHeader = Type.Pick(changeHeaders, ['x-nodekeep-device'])

/** The body of `POST /api/files/undo`. */
export const undoBody = Type.Object(
  { group: Type.String({ pattern: changeGroupPattern, description: 'Of the header `x-nodekeep-undo`.' }) },
  { additionalProperties: false },
)

/** The answer to an undo. */
export const undone = {
  ...Type.Object({
    success: Type.Boolean(),
    changes: Type.Integer({ description: 'The changes that were taken back.' }),
  }),
  headers: undoHeaders,
}

/** The answer to an undo that is refused, because of what came after. */
export const undoRefused = Type.Object({
  error: Type.Boolean(),
  message: Type.String(),
  code: Type.String(),
  paths: Type.Array(Type.String(), {
    description: 'What was changed since, or is not kept any more. At most 20 paths.',
  }),
})
