/*
 * Files that another program of the device has shared with the installed app. The service worker takes them, and the page of files
 * asks where to put them. Until then, they are in a cache of the browser.
 */

const cacheName = 'shared files'

/** The most files of one share, and their most bytes. */
const mostFiles = 100
const mostBytes = 2_000_000_000

const leftOutAddress = '/shared/left-out'

interface Shared {
  readonly files: readonly File[]
  /** The number of files that did not fit. */
  readonly leftOut: number
}

/** Keeps files until they are taken. They take the place of those before. */
export async function keepShared(files: readonly File[]): Promise<void> {
  await forgetShared()
  let bytes = 0
  const fitting = files.slice(0, mostFiles).filter(({ size }) => {
    bytes += size
    return bytes <= mostBytes
  })
  const cache = await caches.open(cacheName)
  let kept = 0
  for (const [i, file] of fitting.entries()) {
    const headers = {
      'content-type': file.type,
      'x-name': encodeURIComponent(file.name.toWellFormed()),
      'x-modified': String(file.lastModified),
    }
    try {
      await cache.put(`/shared/${i}`, new Response(file, { headers }))
    } catch {
      // The browser has no more room. The person is told of the rest.
      break
    }
    kept += 1
  }
  await cache.put(leftOutAddress, new Response(String(files.length - kept)))
}

/** Returns the files that are kept. They stay there. */
export async function keptShared(): Promise<Shared> {
  const none: Shared = { files: [], leftOut: 0 }
  // Pages over plain HTTP have no caches.
  if (!('caches' in globalThis) || !(await caches.has(cacheName))) return none
  const cache = await caches.open(cacheName)
  const leftOut = Number((await (await cache.match(leftOutAddress))?.text()) ?? 0)
  const files: File[] = []
  for (let i = 0; i < mostFiles; i += 1) {
    const answer = await cache.match(`/shared/${i}`)
    if (answer === undefined) break
    const { headers } = answer
    const name = decodeURIComponent(headers.get('x-name') ?? '')
    const lastModified = Number(headers.get('x-modified'))
    files.push(
      new File([await answer.blob()], name, { type: headers.get('content-type') ?? '', lastModified }),
    )
  }
  return { files, leftOut }
}

/** Removes the files that are kept, and resolves to whether there were any. */
export async function forgetShared(): Promise<boolean> {
  return 'caches' in globalThis && caches.delete(cacheName)
}
