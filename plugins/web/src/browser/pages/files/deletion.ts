import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { ask } from '../../questions.ts'
import { request } from '../../request.ts'
import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import { removal } from './entry-operations.ts'
import { folderOf, nameOf } from './paths.ts'
import type { Tasks } from './tasks.ts'
import { toldOf } from './told.ts'

/**
 * Deletes files, wherever they are. It asks before a deletion that nothing takes back.
 *
 * @returns whether they go away
 */
export async function deleteFiles(
  page: PageContext,
  tasks: Tasks,
  paths: readonly [string, ...string[]],
): Promise<boolean> {
  if (!(await areKept(page, paths)) && !(await agreesToLose(paths))) return false
  tasks.add(
    paths.map((path) => removal(page, path)),
    toldOf(texts.files.done.deleted),
  )
  return true
}

/** Whether the trash keeps all of the files. Each storage has its own rule. */
async function areKept(page: PageContext, paths: readonly string[]): Promise<boolean> {
  for (const path of new Set(paths.map(folderOf))) {
    try {
      const { keeps } = await request(page, 'GET /api/files/list', { query: { path, limit: '1' } })
      if (!keeps.trash) return false
    } catch {
      return false
    }
  }
  return true
}

async function agreesToLose(paths: readonly [string, ...string[]]): Promise<boolean> {
  const [first] = paths
  const title =
    paths.length === 1
      ? texts.files.deleteTitle(shownName(nameOf(first)))
      : texts.files.deleteSeveral(paths.length)
  return (
    (await ask({ title, text: texts.files.deleteFile, agree: texts.files.deleteForGood, danger: true })) !==
    null
  )
}
