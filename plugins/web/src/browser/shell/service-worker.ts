/*
 * The service worker of the pages. It asks the node first. Only while the node is away, it answers with the first page that it keeps: a
 * page without data, which says that the node is away and goes on when the node is back. Nothing else is kept but the files that
 * somebody shares with the installed app.
 *
 * It keeps a file only if that is the file of its own release, by the SHA-256. So neither the answer of a proxy nor that of another
 * program at the address is ever kept.
 */
import { isOfProxy } from '../refusal.ts'
import { forgetShared, keepShared } from '../shared-files.ts'

/** The parts of the scope of a service worker that are used here (https://w3c.github.io/ServiceWorker/). */
interface WorkerScope {
  readonly location: Location
  readonly clients: { claim(): Promise<void> }
  readonly registration: ServiceWorkerRegistration
  skipWaiting(): Promise<void>
  addEventListener(type: 'install' | 'activate', listener: (event: WorkerEvent) => void): void
  addEventListener(type: 'message', listener: (event: WorkerEvent & MessageEvent) => void): void
  addEventListener(type: 'fetch', listener: (event: WorkerFetch) => void): void
}

interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void
}

interface WorkerFetch extends WorkerEvent {
  readonly request: Request
  respondWith(answer: Promise<Response>): void
}

declare const self: WorkerScope

/** The SHA-256 of each file of the first page, in base64url, by its path. The bundle has them. */
declare const shellFiles: Readonly<Record<string, string>>

/** The messages of the first page: somebody is signed in, or has signed out. */
export type ShellMessage = 'keep' | 'forget'

const cachePrefix = 'shell '
const cacheName = `${cachePrefix}${Object.values(shellFiles).join(' ')}`

/** The address to which the system sends shared files (see the manifest). */
const shareAddress = '/share'

/** Changes of the cache run one after the other. */
let work: Promise<unknown> = Promise.resolve()

function afterOthers(next: () => Promise<unknown>): Promise<unknown> {
  // A failure, such as a full disk, must not leave a part of the first page.
  work = work.then(next).catch(drop).catch(ignore)
  return work
}

function ignore(): void {}

self.addEventListener('install', () => void self.skipWaiting())

self.addEventListener('activate', (event) => {
  const dropOthers = async () => {
    const names = await shellCaches()
    await Promise.all(names.filter((name) => name !== cacheName).map((name) => caches.delete(name)))
  }
  event.waitUntil(Promise.all([afterOthers(dropOthers), self.clients.claim()]))
})

self.addEventListener('message', (event) => {
  const message = event.data as ShellMessage
  event.waitUntil(afterOthers(message === 'keep' ? keep : forget))
})

self.addEventListener('fetch', (event) => {
  const { method, mode, url } = event.request
  const { origin, pathname, search } = new URL(url)
  if (origin !== self.location.origin) return
  if (method === 'POST' && pathname === shareAddress && mode === 'navigate')
    event.respondWith(takeShared(event.request))
  else if (method === 'GET' && search === '' && Object.hasOwn(shellFiles, pathname))
    event.respondWith(nodeFirst(event, pathname))
})

async function nodeFirst(event: WorkerFetch, path: string): Promise<Response> {
  const answer = await fetch(event.request).catch((error: unknown) => error as TypeError)
  if (answer instanceof Response && !isOfProxy(answer.status, answer.headers.get('content-type'))) {
    event.waitUntil(dropUnlessOwn(path, answer.clone()))
    return answer
  }
  const kept = await caches.match(path, { cacheName })
  if (kept !== undefined) return kept
  if (answer instanceof Response) return answer
  throw answer
}

/** Drops the first page that is kept, if the node no longer serves it. */
async function dropUnlessOwn(path: string, answer: Response): Promise<void> {
  if (await isOwn(path, answer)) return
  await afterOthers(drop)
  // A new release has a worker of its own, which its page registers. Where there is none, no node is at this address any more.
  const worker = await fetch(self.location.href, { cache: 'no-store' }).catch(() => null)
  const isThere = worker?.ok === true && /javascript/i.test(worker.headers.get('content-type') ?? '')
  if (worker !== null && !isThere) await self.registration.unregister()
}

/** Keeps the first page, whole or not at all. */
async function keep(): Promise<void> {
  if ((await caches.match('/', { cacheName })) !== undefined) return
  const answers = await Promise.all(
    Object.keys(shellFiles).map(async (path) => {
      const answer = await fetch(path, { cache: 'no-cache' })
      if (!(await isOwn(path, answer.clone()))) throw new Error(`${path} is not of this release.`)
      return [path, answer] as const
    }),
  )
  const cache = await caches.open(cacheName)
  // Its document is last, since it tells that all files are there.
  for (const [path, answer] of answers.sort(([a], [b]) => b.length - a.length)) await cache.put(path, answer)
}

async function forget(): Promise<void> {
  await Promise.all([...(await shellCaches()).map((name) => caches.delete(name)), forgetShared()])
}

/** Removes what this worker keeps. That of another release belongs to its own worker. */
async function drop(): Promise<void> {
  await caches.delete(cacheName)
}

async function shellCaches(): Promise<string[]> {
  return (await caches.keys()).filter((name) => name.startsWith(cachePrefix))
}

/** Whether an answer is a file of the first page of this release. */
async function isOwn(path: string, answer: Response): Promise<boolean> {
  if (!answer.ok || answer.redirected || answer.type !== 'basic') return false
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', await answer.arrayBuffer()))
  const text = btoa(String.fromCharCode(...digest))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '') === shellFiles[path]
}

/** Takes the files that another program shares, and opens the page of files. It asks the person before anything is stored. */
async function takeShared(request: Request): Promise<Response> {
  const form = await request.formData()
  await keepShared(form.getAll('files').filter((part) => part instanceof File))
  return Response.redirect('/#/files', 303)
}
