/** The script of a document that shows a page several times, and reports. The conformance suite of pages serves it. */

import type { Remains, TrialOrder, TrialReport } from '../protocol/page-trial.ts'
import type { MountPage, PageContext } from './web-page.ts'

const times = 3
const listeners = new Map<string, Set<unknown>>()
const intervals = new Set<unknown>()
const refused: string[] = []
const errors: string[] = []

document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) =>
  refused.push(`${effectiveDirective}: ${blockedURI} ${sample}`.trim()),
)
window.addEventListener('error', ({ message }) => errors.push(message))
window.addEventListener('unhandledrejection', ({ reason }) => errors.push(String(reason)))
watchListeners(window)
watchListeners(document)
watchListeners(document.body)
watchIntervals()
await report(await tryPage())

async function tryPage(): Promise<TrialReport> {
  const order = (await (await fetch('/trial-order')).json()) as TrialOrder
  const found = { returned: [] as string[], hadContent: [] as boolean[], remains: [] as Remains[] }
  let exported = 'nothing'
  try {
    const { default: mount } = (await import(order.module)) as { default: MountPage }
    exported = typeof mount
    for (
      let time = 0;
      exported === 'function' && found.hadContent.every(Boolean) && time < times;
      time += 1
    ) {
      const { end, hadContent } = await showOnce(mount, order)
      found.returned.push(typeof end)
      found.hadContent.push(hadContent)
      found.remains.push(remains())
    }
  } catch (error) {
    errors.push(String(error))
  }
  return { exported, ...found, refused, errors }
}

/** Shows the page in a new element, goes to another place within it, and leaves it as the node's pages do. */
async function showOnce(mount: MountPage, { user, emptyMs }: TrialOrder) {
  const element = document.createElement('div')
  document.querySelector('main')?.append(element)
  const [leaving, signedOut] = [new AbortController(), new AbortController()]
  const places: Parameters<PageContext['onPlace']>[0][] = []
  const requests = new Set<Promise<unknown>>()
  const page: PageContext = {
    user,
    place: '/',
    query: {},
    onPlace: (listener) => void places.push(listener),
    navigate() {},
    setTitle() {},
    fetch(path, init = {}) {
      const signal = AbortSignal.any([signedOut.signal, ...(init.signal ? [init.signal] : [])])
      const request = fetch(path, { ...init, signal })
      requests.add(request)
      const done = () => requests.delete(request)
      request.then(done, done)
      return request
    },
    signIn: async () => false,
    nodeAnswers: async () => {},
    refresh: async () => {},
    notice: () => () => {},
    signal: leaving.signal,
    signedOut: signedOut.signal,
  }
  const end = mount(element, page)
  const hadContent = await hasContent(element, emptyMs)
  for (const listener of places) listener('/another/place', {})
  while (requests.size > 0) await Promise.allSettled(requests)
  await frames()
  leaving.abort()
  if (typeof end === 'function') end()
  element.remove()
  signedOut.abort()
  await frames()
  return { end, hadContent }
}

function hasContent(element: HTMLElement, emptyMs: number): Promise<boolean> {
  if (element.hasChildNodes()) return Promise.resolve(true)
  return new Promise((resolve) => {
    const found = (hadContent: boolean) => {
      observer.disconnect()
      clearTimeout(timer)
      resolve(hadContent)
    }
    const observer = new MutationObserver(() => found(true))
    observer.observe(element, { childList: true })
    const timer = setTimeout(found, emptyMs, false)
  })
}

/** Lets the page do what it has put off until the next frame. */
async function frames(): Promise<void> {
  for (let frame = 0; frame < 3; frame += 1) {
    await new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
  }
}

function remains(): Remains {
  const elements = document.querySelectorAll('*').length
  const all = [...listeners.values()].reduce((sum, each) => sum + each.size, 0)
  return { elements, listeners: all, intervals: intervals.size }
}

/** Counts the listeners that stay on the window or the document. Those on other elements end with their elements. */
function watchListeners(target: Window | Document | HTMLElement): void {
  const { addEventListener, removeEventListener } = target
  const keyOf = (type: string, options: unknown) => {
    const capture = typeof options === 'object' ? (options as EventListenerOptions | null)?.capture : options
    return `${target.constructor.name} ${type} ${capture === true}`
  }
  const forget = (type: string, listener: unknown, options: unknown) =>
    listeners.get(keyOf(type, options))?.delete(listener)
  target.addEventListener = (type: string, listener: never, options?: AddEventListenerOptions | boolean) => {
    addEventListener.call(target, type, listener, options)
    if (listener === null) return
    const { once = false, signal } = typeof options === 'object' ? options : {}
    if (signal?.aborted) return
    const key = keyOf(type, options)
    listeners.set(key, (listeners.get(key) ?? new Set()).add(listener))
    const ended = () => forget(type, listener, options)
    signal?.addEventListener('abort', ended)
    if (once) addEventListener.call(target, type, ended, { once: true })
  }
  target.removeEventListener = (type: string, listener: never, options?: EventListenerOptions | boolean) => {
    removeEventListener.call(target, type, listener, options)
    forget(type, listener, options)
  }
}

function watchIntervals(): void {
  const { setInterval, clearInterval, clearTimeout } = window
  const set = (...call: Parameters<typeof setInterval>) => {
    const id = setInterval(...call)
    intervals.add(id)
    return id
  }
  const clearing = (clear: (id?: number) => void) => (id?: number) => {
    intervals.delete(id)
    clear(id)
  }
  Object.assign(window, {
    setInterval: set,
    clearInterval: clearing(clearInterval),
    clearTimeout: clearing(clearTimeout),
  })
}

async function report(body: TrialReport): Promise<void> {
  await fetch('/trial-report', { method: 'POST', body: JSON.stringify(body) })
}
