import type { MountPage, PageContext, PageUser } from '@nodekeep/plugin-sdk/web-page'
import { computed, effect, untracked } from '@preact/signals'
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../html.ts'
import * as texts from '../texts.ts'
import { navigate, pageName, place, query } from './address.ts'
import { nodeAnswers } from './connection.ts'
import { notice, noticeFailure } from './notices.ts'
import {
  askToSignIn,
  changes,
  loadSession,
  type ShownPage,
  session,
  sessionFetch,
  signedOut,
} from './session.ts'
import { setTitle } from './title.ts'

/** The page that the address names, or the first. */
export const shownPage = computed(() => {
  const { pages = [] } = session.value ?? {}
  return pageName.value === '' ? pages[0] : pages.find(({ name }) => name === pageName.value)
})

/** Shows one page: loads its module and stylesheet, and mounts it. */
export function PageHost({ page, user }: { page: ShownPage; user: PageUser }): VNode {
  const element = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const main = element.current
    if (main === null) return
    const leaving = new AbortController()
    setTitle(page.title)
    // A person who types into the search came here by it.
    if (!document.activeElement?.closest('search')) main.focus()
    // An element of its own, so that a page which loads late never meets the next one.
    const root = document.createElement('div')
    root.className = 'page'
    main.replaceChildren(root)
    const ended = show(page, user, root, leaving.signal).catch((error: unknown) => {
      if (leaving.signal.aborted) return undefined
      console.error(error)
      root.append(...offerReload(texts.shell.pageFailed(page.title)))
      return undefined
    })
    return () => {
      leaving.abort()
      void ended.then((end) => end?.()).finally(() => root.remove())
    }
  }, [page.module, user.uuid])
  return html`<main id="content" ref=${element} tabindex="-1" aria-label=${page.title}></main>`
}

async function show(
  page: ShownPage,
  user: PageUser,
  root: HTMLElement,
  signal: AbortSignal,
): Promise<ReturnType<MountPage>> {
  const { module, stylesheet } = page
  const [mount] = await Promise.all([
    modules.get(module) ?? whenAnswered((attempt) => load(module, attempt), signal),
    stylesheet !== null && whenAnswered(() => addStylesheet(stylesheet, signal), signal),
  ])
  modules.set(module, mount)
  if (signal.aborted) return undefined
  return mount(root, contextOf(user, page, signal))
}

/** Some browsers remember for the life of a document that a module failed which another one imports. */
function offerReload(reason: string): HTMLElement[] {
  const text = document.createElement('p')
  text.role = 'alert'
  text.textContent = reason
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = texts.shell.reload
  button.addEventListener('click', () => location.reload())
  return [text, button]
}

/** The modules that were loaded, by their address. */
const modules = new Map<string, MountPage>()

/** A browser may remember that a module failed, so each attempt has an address of its own. */
async function load(module: string, attempt: number): Promise<MountPage> {
  const address = attempt === 0 ? module : `${module}?attempt=${attempt}`
  return ((await import(address)) as { default: MountPage }).default
}

/** The attempts to load a part of a page. */
const mostAttempts = 3

/** Loads a part of a page again, once the node answers. */
async function whenAnswered<T>(loadPart: (attempt: number) => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await loadPart(attempt)
    } catch (error) {
      if (attempt + 1 === mostAttempts) throw error
      await nodeAnswers()
      // The person may have gone to another page meanwhile.
      signal.throwIfAborted()
    }
  }
}

function addStylesheet(href: string, signal: AbortSignal): Promise<void> {
  const link = document.createElement('link')
  link.rel = 'stylesheet'
  link.href = href
  signal.addEventListener('abort', () => link.remove())
  return new Promise((resolve, reject) => {
    link.addEventListener('load', () => resolve())
    link.addEventListener('error', () => {
      link.remove()
      reject(new Error(`${href} cannot be loaded.`))
    })
    document.head.append(link)
  })
}

function contextOf(user: PageUser, { name, title }: ShownPage, signal: AbortSignal): PageContext {
  const ended = signedOut()
  return {
    user,
    get place() {
      return place.value
    },
    get query() {
      return query.value
    },
    onPlace(listener) {
      let isFirst = true
      const stop = effect(() => {
        const at = [place.value, query.value] as const
        if (!isFirst && shownPage.peek()?.name === name) untracked(() => listener(...at))
        isFirst = false
      })
      signal.addEventListener('abort', stop)
    },
    navigate,
    setTitle(text) {
      if (!signal.aborted) setTitle(text ?? title)
    },
    fetch: (path, init) => sessionFetch(ended, path, init),
    signIn: askToSignIn,
    nodeAnswers,
    async refresh() {
      changes.value += 1
      await loadSession().catch((error: unknown) => noticeFailure(error, texts.shell.requestFailed))
    },
    notice,
    signal,
    signedOut: ended,
  }
}
