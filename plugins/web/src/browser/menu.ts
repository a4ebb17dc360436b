import { useSignal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { html } from './html.ts'
import { type IconName, icon } from './icon.ts'

/** A line of a menu. `null` separates the lines before from those behind. */
export type MenuItem = {
  readonly label: string
  readonly icon?: IconName | VNode
  /** The key that does it without the menu, as it is shown: `F2`. */
  readonly keys?: string
  /** Whether it takes something away that "Undo" does not bring back. */
  readonly isDanger?: boolean
  /** Set for one of several that exclude each other: whether this one is chosen. */
  readonly isChosen?: boolean
  /** The reason why it cannot be done now. */
  readonly refused?: string
} & ({ readonly run: () => void } | { readonly href: string; readonly isCurrent?: boolean })

/** The place of a menu: at an element, or at a point of the window in pixels. */
export type MenuPlace = Element | { readonly x: number; readonly y: number }

interface MenuProps {
  readonly label: string
  readonly items: readonly (MenuItem | null)[]
  readonly at: MenuPlace
  readonly onClose: () => void
  /** Stands above the lines. */
  readonly children?: ComponentChildren
}

/** Milliseconds within which letters make one word. */
const wordMs = 700

/** Pixels between a menu and the edge of the window, and between a menu and its element. */
const gap = 6

/**
 * A menu over the page. The arrow keys, Home, End and letters lead through it; Escape, a press elsewhere and another address close it. It gives
 * the focus back.
 */
export function Menu({ label, items, at, onClose, children }: MenuProps): VNode {
  const element = useRef<HTMLDivElement>(null)
  const word = useRef({ text: '', at: 0 })
  useLayoutEffect(() => {
    const menu = element.current
    const before = document.activeElement
    if (menu === null) return
    menu.showPopover()
    const move = () => place(menu, at)
    move()
    addEventListener('resize', move)
    linesOf(menu)[0]?.focus({ preventScroll: true })
    // A popover that the browser closes by itself would go when the press that opened it at a point ends.
    const pressElsewhere = ({ target }: Event) => {
      const isOwn = [menu, at].some((one) => one instanceof Element && one.contains(target as Node))
      if (!isOwn) onClose()
    }
    addEventListener('pointerdown', pressElsewhere, { capture: true })
    // "Back" leads to another page, but the frame and its menus stay. The event of the place before may still be to come.
    const { hash } = location
    const leave = () => {
      if (location.hash !== hash) onClose()
    }
    addEventListener('hashchange', leave)
    return () => {
      removeEventListener('pointerdown', pressElsewhere, { capture: true })
      removeEventListener('resize', move)
      removeEventListener('hashchange', leave)
      const { activeElement } = document
      const isFree = activeElement === document.body || menu.contains(activeElement)
      if (isFree && before instanceof HTMLElement) before.focus({ preventScroll: true })
    }
  }, [])
  const press = (event: KeyboardEvent) => {
    const menu = element.current
    if (menu === null || event.ctrlKey || event.metaKey || event.altKey) return
    const lines = linesOf(menu)
    const from = lines.indexOf(document.activeElement as HTMLElement)
    const to = lineFor(event.key, lines, from, word.current)
    if (event.key === 'Tab' || event.key === 'Escape') onClose()
    else if (to !== undefined) to.focus()
    else return
    event.preventDefault()
  }
  return html`<div class="menu" popover="manual" ref=${element} onKeyDown=${press}>
    ${children}
    <div role="menu" aria-label=${label}>
      ${items.map((item) => (item === null ? html`<hr />` : html`<${Line} item=${item} onClose=${onClose} />`))}
    </div>
  </div>`
}

function Line({ item, onClose }: { item: MenuItem; onClose: () => void }): VNode {
  const { label, icon: shown, keys, isDanger = false, isChosen, refused } = item
  const attributes = {
    role: isChosen === undefined ? 'menuitem' : 'menuitemradio',
    tabindex: -1,
    class: isDanger ? 'danger' : '',
    'aria-checked': isChosen,
    'aria-disabled': refused === undefined ? undefined : true,
    title: refused,
  }
  const content = html`
    ${typeof shown === 'string' ? icon(shown) : shown}
    <span>${label}</span>
    ${keys !== undefined && html`<kbd aria-hidden="true">${keys}</kbd>`}
    ${isChosen === true && html`<span class="end">${icon('check')}</span>`}
  `
  if ('href' in item) {
    const current = item.isCurrent === true ? 'page' : undefined
    return html`<a ...${attributes} href=${item.href} aria-current=${current} onClick=${onClose}>${content}</a>`
  }
  const click = () => {
    if (refused !== undefined) return
    // The focus is back before the action moves it on.
    onClose()
    queueMicrotask(item.run)
  }
  return html`<button type="button" ...${attributes} aria-keyshortcuts=${keys} onClick=${click}>${content}</button>`
}

interface MenuButtonProps {
  /** The name of the menu, and of the button if it has no text. */
  readonly label: string
  readonly items: readonly (MenuItem | null)[]
  readonly class?: string
  /** Stands above the lines. */
  readonly head?: ComponentChildren
  /** The content of the button. */
  readonly children?: ComponentChildren
  readonly [attribute: string]: unknown
}

/** A button that opens a menu. */
export function MenuButton({ label, items, head, children, ...attributes }: MenuButtonProps): VNode {
  const element = useRef<HTMLButtonElement>(null)
  const isOpen = useSignal(false)
  const toggle = () => {
    isOpen.value = !isOpen.value
  }
  const close = () => {
    isOpen.value = false
  }
  return html`<button
      type="button"
      ...${attributes}
      ref=${element}
      aria-label=${label}
      aria-haspopup="menu"
      aria-expanded=${isOpen.value}
      onClick=${toggle}
    >${children}</button>
    ${
      isOpen.value &&
      element.current &&
      html`<${Menu} label=${label} items=${items} at=${element.current} onClose=${close}>${head}<//>`
    }`
}

/** Returns the lines that can have the focus. */
function linesOf(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>('[role^="menuitem"]')]
}

/** Returns the line that a key leads to, or `undefined`. */
function lineFor(
  key: string,
  lines: readonly HTMLElement[],
  from: number,
  word: { text: string; at: number },
): HTMLElement | undefined {
  if (key === 'ArrowDown') return lines[(from + 1) % lines.length]
  if (key === 'ArrowUp') return lines.at(from <= 0 ? -1 : from - 1)
  if (key === 'Home') return lines[0]
  if (key === 'End') return lines.at(-1)
  if (key.length !== 1 || key === ' ') return undefined
  const now = performance.now()
  word.text = (now - word.at < wordMs ? word.text : '') + key.toLocaleLowerCase()
  word.at = now
  const start = word.text.length === 1 ? from + 1 : from
  const order = [...lines.slice(start), ...lines.slice(0, start)]
  return order.find(({ innerText }) => innerText.trim().toLocaleLowerCase().startsWith(word.text))
}

/** Moves a menu to its place: below an element, or above it if there is more room. It stays within the window. */
function place(menu: HTMLElement, at: MenuPlace): void {
  // At the place before, it may have had less room.
  menu.style.left = '0'
  const { width, height } = menu.getBoundingClientRect()
  const within = (from: number, size: number, all: number) => Math.max(gap, Math.min(from, all - size - gap))
  const box = at instanceof Element ? at.getBoundingClientRect() : new DOMRect(at.x, at.y, 0, 0)
  const distance = at instanceof Element ? gap : 0
  const isLeft = box.left + box.width / 2 < innerWidth / 2 || !(at instanceof Element)
  const hasRoom = box.bottom + distance + height + gap <= innerHeight || box.top < innerHeight - box.bottom
  const left = isLeft ? box.left : box.right - width
  const top = hasRoom ? box.bottom + distance : box.top - distance - height
  menu.style.left = `${within(left, width, innerWidth)}px`
  menu.style.top = `${within(top, height, innerHeight)}px`
}
