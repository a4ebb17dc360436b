import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { texts } from '../../texts.ts'
import { mostCharacters, type Search } from './search.ts'

const words = texts.search

/** Fields that take the key `/` themselves. */
const fieldsForText = 'input:not([type="checkbox"]), textarea, select'

interface SearchBoxProps {
  readonly search: Search
  readonly page: PageContext
  readonly onClose: () => void
}

/** The field in which a person types what they look for. The key `/` leads to it, and Escape closes the search. */
export function SearchBox({ search, page, onClose }: SearchBoxProps): VNode {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, target } = event
      if (ctrlKey || metaKey || altKey || document.querySelector('dialog[open]') !== null) return
      if (key === 'Escape' && search.isOpen.value) onClose()
      else if (key === '/' && !(target instanceof Element && target.matches(fieldsForText)))
        field.current?.select()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press, { signal: page.signal })
  }, [])
  return html`<search>
    <input
      type="search"
      ref=${field}
      value=${search.text.value}
      placeholder=${hasKeys() ? words.placeholderWithKey : words.placeholder}
      aria-label=${words.label}
      aria-keyshortcuts="/"
      maxlength=${mostCharacters}
      autocomplete="off"
      spellcheck=${false}
      onInput=${({ currentTarget }: Event) => search.type((currentTarget as HTMLInputElement).value)}
    />
  </search>`
}

/** Whether the device has a keyboard, most likely. */
function hasKeys(): boolean {
  return matchMedia('(hover: hover) and (pointer: fine)').matches
}
