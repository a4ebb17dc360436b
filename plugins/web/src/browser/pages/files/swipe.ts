import { useRef } from 'preact/hooks'

/** Pixels that a finger moves at least, and not more into the other direction. */
const least = 50

interface SwipeOptions {
  /** Whether a finger swipes. It moves a picture that is zoomed instead. */
  isOn(): boolean
  /** Called with 1 for what is next, which comes from the right, and with -1 for what is before. */
  onSwipe(by: 1 | -1): void
  onSwipeDown(): void
}

interface SwipeHandlers {
  onPointerDown(event: PointerEvent): void
  onPointerUp(event: PointerEvent): void
  onPointerCancel(): void
}

/** Returns the handlers of an element over which one finger swipes. */
export function useSwipe({ isOn, onSwipe, onSwipeDown }: SwipeOptions): SwipeHandlers {
  const start = useRef<{ readonly x: number; readonly y: number } | null>(null)
  return {
    onPointerDown({ isPrimary, pointerType, clientX, clientY, target }) {
      const isOfOther = (target as Element).closest('audio, video, textarea') !== null
      // A second finger zooms.
      const begins = isPrimary && pointerType === 'touch' && !isOfOther && isOn()
      start.current = begins ? { x: clientX, y: clientY } : null
    },
    onPointerUp({ clientX, clientY }) {
      const from = start.current
      start.current = null
      // Otherwise the finger has selected a text.
      const isFree = getSelection()?.isCollapsed !== false
      if (from === null || !isFree || !isOn()) return
      const [x, y] = [clientX - from.x, clientY - from.y]
      if (Math.abs(x) > least && Math.abs(x) > 2 * Math.abs(y)) onSwipe(x < 0 ? 1 : -1)
      else if (y > 2 * least && y > 2 * Math.abs(x)) onSwipeDown()
    },
    onPointerCancel() {
      start.current = null
    },
  }
}
