import { computed, signal } from '@preact/signals'

/*
 * The part of the address behind `#` names the page, the place in it, and a query: `#/files/photos?search=sea`. The start of a node prints a link with
 * `#claim=`, and the QR code of a sign-in code one with `#code=`. Nothing behind `#` is sent to a server or a proxy.
 */

/** Values by their names. */
type Query = Readonly<Record<string, string>>

const fragment = signal(location.hash.slice(1))
addEventListener('hashchange', readFragment)

function readFragment(): void {
  fragment.value = location.hash.slice(1)
}

/** The claim code in the address, or an empty text. */
export const claimInAddress = computed(() => /^claim=(.*)$/.exec(fragment.value)?.[1] ?? '')

/** The sign-in code in the address, as a QR code has it, or an empty text. */
export const codeInAddress = computed(() => /^code=(.*)$/.exec(fragment.value)?.[1] ?? '')

/** The name of the page; empty for the first. */
export const pageName = computed(() => names.value[0] ?? '')

/** The place within the page; `/` at its beginning. */
export const place = computed(() => `/${names.value.slice(1).join('/')}`)

/** The values behind `?`. */
export const query = computed<Query>(() => Object.fromEntries(new URLSearchParams(queryText.value)))

const queryText = computed(() => parts.value[1] ?? '')

/** The path, and the text of the query. A `?` in a name is encoded. */
const parts = computed(() => {
  const at = fragment.value.indexOf('?')
  return at < 0 ? [fragment.value, ''] : [fragment.value.slice(0, at), fragment.value.slice(at + 1)]
})

const names = computed(() => (parts.value[0] ?? '').split('/').slice(1).filter(Boolean).map(decoded))

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

interface NavigateOptions {
  readonly query?: Query
  /** Whether the place takes that of the present one in the history. */
  readonly replace?: boolean
}

/** Opens a page by its path, such as `/files/photos`. */
export function navigate(path: string, { query = {}, replace = false }: NavigateOptions = {}): void {
  const address = addressOf(path, query)
  if (replace) location.replace(address)
  else location.hash = address
  // The event comes later than the next letter that a person types. The page that calls is not called back within this call.
  queueMicrotask(readFragment)
}

/** Returns the address of a page. */
export function addressOf(path: string, query: Query = {}): string {
  const values = new URLSearchParams(query).toString()
  const encoded = path.split('/').map(encodeURIComponent).join('/')
  return `#${encoded}${values === '' ? '' : `?${values}`}`
}
