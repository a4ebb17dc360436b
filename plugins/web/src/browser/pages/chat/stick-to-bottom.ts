import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

interface StickToBottom {
  /** The element that scrolls. Its first child has the content. */
  readonly element: RefObject<HTMLDivElement | null>
  readonly onScroll: () => void
  /** Goes to the end. */
  toEnd(): void
}

/** Keeps the end of an element in view while its content grows, unless the person has scrolled up. */
export function useStickToBottom(): StickToBottom {
  const element = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const lastTop = useRef(0)
  const toEnd = () => {
    isAtEnd.current = true
    element.current?.scrollTo(0, element.current.scrollHeight)
  }
  const onScroll = () => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = element.current ?? {}
    const isNear = scrollHeight - scrollTop - clientHeight < 40
    // The content may have grown since this page itself went to the end.
    if (isNear || scrollTop < lastTop.current) isAtEnd.current = isNear
    lastTop.current = scrollTop
  }
  useLayoutEffect(() => {
    const follow = () => {
      if (isAtEnd.current) toEnd()
    }
    const observer = new ResizeObserver(follow)
    for (const sized of [element.current, element.current?.firstElementChild]) {
      if (sized) observer.observe(sized)
    }
    return () => observer.disconnect()
  }, [])
  return { element, onScroll, toEnd }
}
