import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { narrow, useMedia } from '../../media.ts'
import { isForPage } from '../../page-keys.ts'
import * as texts from '../../texts.ts'
import { navigate, place, query } from '../address.ts'
import { shownPage } from '../page-host.ts'

/** Characters of the longest text that the node searches for. */
const mostCharacters = 200

/** The page that shows what is found, for `?search=` in its address. */
const resultsPage = 'files'

/** The field in which a person types what they look for, on every page. The key `/` leads to it. */
export function SearchField(): VNode {
  const field = useRef<HTMLInputElement>(null)
  const searched = searchedText()
  const isNarrow = useMedia(narrow)
  useLayoutEffect(() => {
    // Meanwhile, the person may have typed on.
    const now = searchedText()
    if (field.current !== null && field.current.value !== now) field.current.value = now
  }, [searched])
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey } = event
      if (key !== '/' || ctrlKey || metaKey || altKey || !isForPage(event)) return
      event.preventDefault()
      field.current?.focus()
      field.current?.select()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  const type = ({ currentTarget }: Event) => {
    const text = (currentTarget as HTMLInputElement).value
    const isThere = shownPage.peek()?.name === resultsPage
    if (text === '' && !isThere) return
    const folder = isThere ? place.peek() : '/'
    navigate(`/${resultsPage}${folder === '/' ? '' : folder}`, {
      query: text === '' ? {} : { search: text },
      // One step back leads to the folder, not to the letters before.
      replace: isThere && query.peek().search !== undefined,
    })
  }
  return html`<search>
    ${icon('search')}
    <input
      type="search"
      ref=${field}
      defaultValue=${searched}
      placeholder=${isNarrow ? texts.shell.searchShort : texts.shell.search}
      aria-label=${texts.shell.search}
      aria-keyshortcuts="/"
      maxlength=${mostCharacters}
      autocomplete="off"
      spellcheck=${false}
      onInput=${type}
    />
    ${hasKeys() && html`<kbd aria-hidden="true">/</kbd>`}
  </search>`
}

/** The text in the address that is searched for; empty for none. */
function searchedText(): string {
  return shownPage.value?.name === resultsPage ? (query.value.search ?? '') : ''
}

/** Whether the device has a keyboard, most likely. */
function hasKeys(): boolean {
  return matchMedia('(hover: hover) and (pointer: fine)').matches
}
