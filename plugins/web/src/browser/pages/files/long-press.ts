import { useMemo, useRef } from 'preact/hooks'

/** An entry of a list that was pressed, with the element that shows it. */
export interface PressedEntry<T> {
  readonly element: HTMLElement
  readonly entry: T
  readonly index: number
}

/** Milliseconds after which a press of a finger is long. Browsers of phones use about the same. */
const longMs = 500

/** Pixels that a finger may move meanwhile. */
const slack = 10

interface Press {
  readonly x: number
  readonly y: number
  readonly timer: ReturnType<typeof setTimeout>
}

type Pressed<T> = (entry: PressedEntry<T>, place: { readonly x: number; readonly y: number }) => void

/**
 * A long press of a finger on an entry. Some browsers of phones tell none by themselves.
 *
 * @param at the entry that shows a target
 */
export function useLongPress<T>(
  at: (target: EventTarget | null) => PressedEntry<T> | null,
  onLong: Pressed<T>,
) {
  const latest = useRef({ at, onLong })
  latest.current = { at, onLong }
  return useMemo(() => {
    let press: Press | null = null
    let isTouch = false
    let isLong = false
    const end = () => {
      if (press !== null) clearTimeout(press.timer)
      press = null
    }
    const down = ({ pointerType, target, clientX: x, clientY: y }: PointerEvent) => {
      end()
      isLong = false
      isTouch = pointerType === 'touch'
      const pressed = latest.current.at(target)
      if (pressed === null) return
      // A finger scrolls: only a mouse or a pen drags.
      pressed.element.draggable = !isTouch
      if (!isTouch) return
      const timer = setTimeout(() => {
        isLong = true
        press = null
        latest.current.onLong(pressed, { x, y })
      }, longMs)
      press = { x, y, timer }
    }
    const move = ({ clientX, clientY }: PointerEvent) => {
      if (press !== null && Math.hypot(clientX - press.x, clientY - press.y) > slack) end()
    }
    return {
      /** Whether the last press was that of a finger. */
      isTouch: () => isTouch,
      /** Whether it was long: then the click after it does nothing. */
      wasLong: () => isLong,
      /** Tells that the browser has told the long press. */
      isTold() {
        end()
        isLong = true
      },
      listeners: { onPointerDown: down, onPointerMove: move, onPointerUp: end, onPointerCancel: end },
    }
  }, [])
}
