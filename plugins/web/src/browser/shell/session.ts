import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { PageUser } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'
import { keepDraft, keptDraft } from '../drafts.ts'
import { accepted } from '../refusal.ts'
import * as texts from '../texts.ts'
import { askNode, nodeAnswers } from './connection.ts'
import { forgetShell, keepShell } from './kept-shell.ts'
import { nodeName } from './node-name.ts'
import { clearNotices, notice } from './notices.ts'

type PageList = NodeAnswers['GET /api/web/pages']
/** A page in the navigation. */
export type ShownPage = PageList['pages'][number]

/** The person and their pages. */
interface Session {
  readonly user: PageUser
  readonly pages: readonly ShownPage[]
  /** Whether the page of files can search. */
  readonly search: boolean
}

/** `null` if nobody is signed in, `undefined` until the node has told. */
export const session = signal<Session | null | undefined>(undefined)

/** Set while somebody has to sign in again over the page. */
export const signInAgain = signal<{
  readonly promise: Promise<boolean>
  end(signedIn: boolean): void
} | null>(null)

/** Rises when the person may have changed something on the node. */
export const changes = signal(0)

let presence = new AbortController()

/** Aborted when the person signs out, or somebody else signs in. */
export function signedOut(): AbortSignal {
  return presence.signal
}

/** Ends what goes on, and removes what the next person would see of this one: notices, drafts, and the names in the address. */
function endPresence(): void {
  presence.abort()
  presence = new AbortController()
  clearNotices()
  location.replace('#/')
  try {
    sessionStorage.clear()
  } catch {
    // The person may have switched off the storage.
  }
}

/** Where the tab remembers whose texts and names it keeps. */
const personKey = 'person'

/** Asks the node who is signed in. */
export async function loadSession(): Promise<void> {
  const { user } = (await (await get('/whoami')).json()) as NodeAnswers['GET /whoami']
  if (!user.authenticated) {
    // The text that the person typed stays while they sign in again.
    if (session.value) void askToSignIn()
    else {
      session.value = null
      if (await forgetShell()) notice(texts.shell.sharedWithoutSession, 'error')
    }
    return
  }
  const answer = await get('/api/web/pages')
  // The session has just ended.
  if (answer.status === 401) return loadSession()
  const { name, owner, search, pages } = (await (await accepted(answer)).json()) as PageList
  const { uuid, username, wallet } = user
  // A reload may have come between: what the tab keeps is that of the person before.
  const before = session.value?.user.uuid ?? keptDraft(personKey)
  if (before !== '' && before !== uuid) endPresence()
  keepDraft(personKey, uuid)
  nodeName.value = name
  session.value = { user: { uuid, username, wallet, owner }, pages, search }
  signInAgain.value?.end(true)
  void keepShell()
}

/** Asks the node, until it answers. */
export async function get(path: string): Promise<Response> {
  for (;;) {
    try {
      return await askNode(path, { cache: 'no-store' })
    } catch {
      await nodeAnswers()
    }
  }
}

/**
 * Asks the person to sign in again, over the page. Resolves to whether they did. Several requests share one question.
 * Nobody is asked after the person has signed out.
 */
export function askToSignIn(): Promise<boolean> {
  if (session.value === null) return Promise.resolve(false)
  if (signInAgain.value === null) {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    signInAgain.value = {
      promise,
      end(signedIn) {
        signInAgain.value = null
        resolve(signedIn)
      },
    }
  }
  return signInAgain.value.promise
}

/** The other tabs of this browser, which share the session. */
const otherTabs = new BroadcastChannel('signed out')
otherTabs.addEventListener('message', showSignedOut)

/** Ends the session. */
export async function signOut(): Promise<void> {
  const answer = await fetch('/auth/logout', { method: 'POST' })
  if (answer.status !== 401) await accepted(answer)
  showSignedOut()
  otherTabs.postMessage(null)
}

function showSignedOut(): void {
  session.value = null
  endPresence()
  void forgetShell()
  signInAgain.value?.end(false)
}

/**
 * The `fetch` of pages. See `PageContext.fetch` of the SDK.
 *
 * @param ended aborted when the person has gone, so that no request of theirs is sent with the session of somebody else
 */
export async function sessionFetch(
  ended: AbortSignal,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  for (;;) {
    ended.throwIfAborted()
    const answer = await askNode(path, init).catch(async (error: unknown) => {
      if (!(error instanceof TypeError)) throw error
      const answered = nodeAnswers()
      if ((init.method ?? 'GET').toUpperCase() !== 'GET') throw error
      await answered
      init.signal?.throwIfAborted()
      return null
    })
    if (answer === null) continue
    if (answer.headers.get('nodekeep-route') === 'none') return notRunning()
    if (answer.ok && !['GET', 'HEAD'].includes((init.method ?? 'GET').toUpperCase())) changes.value += 1
    if (answer.status !== 401 || !(await askToSignIn())) return answer
  }
}

/** The answer to a request whose route is gone with its plugin. It is not 404, since nobody knows whether something is there. */
function notRunning(): Response {
  const message = texts.shell.notRunning(session.value?.user.owner === true)
  return Response.json({ error: true, message, code: 'SERVICE_UNAVAILABLE' }, { status: 503 })
}
