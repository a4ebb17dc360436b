import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { accepted, Refusal, refusalOf } from '../../refusal.ts'
import * as texts from '../../texts.ts'
import { undoHeader } from './last-change.ts'
import { folderOf, nameOf, pathIn } from './paths.ts'
import type { Attempt, Work } from './tasks.ts'

/** Moves a file or folder into a folder. */
export function move(page: PageContext, source: string, folder: string): Work {
  return {
    title: texts.files.moving(nameOf(source)),
    path: pathIn(folder, nameOf(source)),
    source,
    ifExists: 'ask',
    isQuiet: true,
    attempt: (attempt) => transfer(page, '/move', source, attempt),
    isDone: async () => (await statOf(page, source)) === null,
  }
}

/** Copies a file or folder into a folder. In the folder where it is, the copy gets another name. */
export function copy(page: PageContext, source: string, folder: string): Work {
  return {
    title: texts.files.copying(nameOf(source)),
    path: pathIn(folder, nameOf(source)),
    source,
    ifExists: folderOf(source) === folder ? 'keepBoth' : 'ask',
    isQuiet: true,
    async attempt(attempt) {
      if (attempt.path === source) return new Refusal(412, '')
      return transfer(page, '/api/files/copy', source, attempt)
    },
    isDone: async () => false,
  }
}

/** Deletes a file or folder. */
export function removal(page: PageContext, path: string): Work {
  return {
    title: texts.files.deleting(nameOf(path)),
    path,
    ifExists: 'ask',
    isQuiet: true,
    async attempt(attempt) {
      const refusal = await post(page, '/delete', { path }, attempt)
      return refusal?.status === 404 ? null : refusal
    },
    isDone: async () => (await statOf(page, path)) === null,
  }
}

/** The upload of something that the browser could not read. It fails, so that the person sees its name among the others. */
export function unreadable(title: string, path: string): Work {
  return {
    title,
    path,
    ifExists: 'ask',
    isQuiet: false,
    attempt: async () => new Refusal(400, texts.files.unreadable),
    isDone: async () => false,
  }
}

/** Makes a folder, and those above it. */
export function newFolder(page: PageContext, path: string): Work {
  return {
    title: nameOf(path),
    path,
    ifExists: 'ask',
    isQuiet: true,
    attempt: (attempt) => post(page, '/mkdir', { path }, attempt),
    isDone: async () => false,
  }
}

/** The facts that the node tells about a path. */
interface PathState extends Pick<NodeAnswers['GET /stat'], 'size' | 'modified'> {
  /** The entity tag of a file without its quotes; `null` for a folder. */
  readonly revision: string | null
}

/**
 * Asks the node about a path. Resolves to `null` if nothing is there.
 *
 * @throws Refusal
 */
export async function statOf(page: PageContext, path: string): Promise<PathState | null> {
  const answer = await page.fetch(`/stat?path=${encodeURIComponent(path)}`)
  if (answer.status === 404) return null
  const { size, modified } = (await (await accepted(answer)).json()) as NodeAnswers['GET /stat']
  return { size, modified, revision: answer.headers.get('etag')?.replaceAll('"', '') ?? null }
}

function transfer(
  page: PageContext,
  route: string,
  source: string,
  attempt: Attempt,
): Promise<Refusal | null> {
  const { path: destination, replaces } = attempt
  const body = { source, destination, overwrite: replaces }
  return post(page, route, body, attempt, replaces ? {} : { 'if-none-match': '*' })
}

async function post(
  page: PageContext,
  route: string,
  body: object,
  { headers, signal, answered }: Attempt,
  conditions: Readonly<Record<string, string>> = {},
): Promise<Refusal | null> {
  try {
    const answer = await page.fetch(route, {
      method: 'POST',
      headers: { ...headers, ...conditions, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    })
    if (!answer.ok) return refusalOf(answer.status, await answer.text())
    answered(answer.headers.get(undoHeader))
    return null
  } catch {
    return new Refusal(0, '')
  }
}
