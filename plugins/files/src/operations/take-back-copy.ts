import { entryIn } from '../mounts/mounts.ts'
import type { FileCopy } from './copy-tree.ts'
import type { KeptPlace } from './keeping.ts'
import { putBack } from './put-back.ts'
import { removeExactly } from './remove-source.ts'
import type { Scope } from './scope.ts'
import type { Tree } from './walk.ts'

/** A copy, and the place of the content that it has replaced. */
type ReplacingCopy = FileCopy & { readonly former: KeptPlace }

/**
 * Takes back a copy that has failed: a file that has replaced another one gets that content again, and everything else is removed. Where that
 * fails, too, the copy stays, and the content that it has replaced is a version of it.
 */
export async function takeBackCopy(scope: Scope, { files, folders }: Tree<FileCopy>): Promise<void> {
  const isReplacing = (file: FileCopy): file is ReplacingCopy => file.former !== undefined
  for (const file of files.filter(isReplacing)) await putFormerBack(scope, file)
  await removeExactly(scope, { files: files.filter((file) => !isReplacing(file)), folders })
}

async function putFormerBack(scope: Scope, { path, revision, former }: ReplacingCopy): Promise<void> {
  const { journal, mounts, userUuid } = scope
  const present = await mounts.entryAt(userUuid, path)
  // Another program has changed the copy.
  if (present !== null && present.revision !== revision) return
  const from = { backend: scope.locate(path).backend, backendPath: former.backendPath }
  const stored = await entryIn(from)
  if (stored === null) return
  const known = (await journal.keptOf(userUuid)).named(userUuid, former.name)
  const created = new Date(known?.entry.created ?? stored.created)
  const intent = { op: 'write', size: stored.size, created, restores: former.name } as const
  const options = { overwrite: true, known: { source: stored, destination: present } }
  await putBack(scope, { from, stored, path, intent }, options)
}
