import { forgetShared } from '../shared-files.ts'
import type { ShellMessage } from './service-worker.ts'

/*
 * The first page that the browser keeps for the time when the node is away. It is kept while somebody is signed in. Browsers have no
 * service workers for pages over plain HTTP, but for those of the own machine.
 */

const address = '/service-worker.js'

/** Trusted Types: https://www.w3.org/TR/trusted-types/#trustedscripturl-interface. Some browsers have none. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): string }
}

const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }

/** It takes one address. */
const policy = trustedTypes?.createPolicy('nodekeep-service-worker', {
  createScriptURL(url) {
    if (url !== address) throw new TypeError(`${url} is not the service worker.`)
    return url
  },
})

/** The service workers; none over plain HTTP. */
const { serviceWorker } = navigator as { serviceWorker?: ServiceWorkerContainer }

/** Whether somebody is signed in, so that the first page is kept. */
let isKept = false

// The worker of a new release keeps nothing yet.
serviceWorker?.addEventListener('controllerchange', () => {
  if (isKept) send(serviceWorker.controller, 'keep')
})

/** Whether the browser has this page from a service worker. */
export function hasServiceWorker(): boolean {
  return serviceWorker?.controller != null
}

/** Lets the browser keep the first page. Without it, all works as long as the node answers. */
export async function keepShell(): Promise<void> {
  if (serviceWorker === undefined) return
  isKept = true
  try {
    await serviceWorker.register(policy?.createScriptURL(address) ?? address, { scope: '/' })
    const { active } = await serviceWorker.ready
    // The person may have signed out meanwhile.
    if (isKept) send(active, 'keep')
  } catch {
    // The person may have switched off the storage, or the node has just gone.
  }
}

/**
 * Removes what the browser keeps.
 *
 * @returns whether there were files that somebody has shared
 */
export async function forgetShell(): Promise<boolean> {
  isKept = false
  try {
    const hadShared = await forgetShared()
    send((await serviceWorker?.getRegistration())?.active, 'forget')
    return hadShared
  } catch {
    // The person may have switched off the storage. Then nothing is kept.
    return false
  }
}

function send(worker: ServiceWorker | null | undefined, message: ShellMessage): void {
  worker?.postMessage(message)
}
