import { computed, signal } from '@preact/signals'

/*
 * The part of the address behind `#` names the page and the place in it: `#/files/photos`. The start of a node prints a link with
 * `#claim=`. Nothing behind `#` is sent to a server or a proxy.
 */

const fragment = signal(location.hash.slice(1))
addEventListener('hashchange', () => {
  fragment.value = location.hash.slice(1)
})

/** The claim code in the address, or an empty text. */
export const claimInAddress = computed(() => /^claim=(.*)$/.exec(fragment.value)?.[1] ?? '')

/** The name of the page; empty for the first. */
export const pageName = computed(() => names.value[0] ?? '')

/** The place within the page; `/` at its beginning. */
export const place = computed(() => `/${names.value.slice(1).join('/')}`)

const names = computed(() => fragment.value.split('/').slice(1).filter(Boolean).map(decoded))

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** Opens a page by its path, such as `/files/photos`. */
export function navigate(path: string): void {
  location.hash = path.split('/').map(encodeURIComponent).join('/')
}
