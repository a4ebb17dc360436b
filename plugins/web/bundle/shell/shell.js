import{A as I,B as te,C as ne,D as C,E as k,F as oe,G as re,H as ae,I as se,K as le,M as y,N as ie,P as ue,Q as w,a as _,b as o,c as f,d as H,e as h,f as T,g as v,i as $,j as z,k as Y,l,p as O,q as j,r as J,s as X,v as P,w as q,x as Z,y as M,z as ee}from"./chunk.js";function ce({icon:e,title:n,text:r="",children:t}){return o`<div class="empty">
    ${f(e)}
    <h2>${n}</h2>
    ${r!==""&&o`<p>${r}</p>`}
    ${t!==void 0&&o`<div class="choices">${t}</div>`}
  </div>`}var x=$(null),B=$(""),N=$(!1);function me(e){return x.value?.answer(null),new Promise(n=>{B.value="",N.value=!1,x.value={...e,answer(r){x.value=null,n(r)}}})}function pe(){let e=x.value;if(h(()=>()=>x.value?.answer(null),[]),e===null)return null;let{title:n,text:r,field:t,agree:a,check:s,answer:u}=e,i=async c=>{if(c.preventDefault(),N.value)return;let m=new FormData(c.target),p=String(m.get("value")??"").trim();N.value=!0;let d=await s?.(p)??null;x.value===e&&(N.value=!1,d===null?u(p):B.value=d)};return o`<${D} title=${n} selected=${t?.selected} onClose=${()=>u(null)}>
    <form onSubmit=${i}>
      ${r&&o`<p>${r}</p>`}
      ${t&&o`<label>${t.label}<input name="value" defaultValue=${t.value} autocomplete="off" autofocus /></label>`}
      <p class="fault" role="alert">${B}</p>
      <p class="buttons">
        <button type="button" onClick=${()=>u(null)}>${l.cancel}</button>
        <button type="submit" class="main" aria-disabled=${N.value}>${a}</button>
      </p>
    </form>
  <//>`}function D(e){let n=v(null);return T(()=>{let t=n.current;t?.showModal();let a=t?.querySelector("input[autofocus]");return a?.setSelectionRange(0,e.selected??a.value.length),()=>t?.close()},[]),o`<dialog ref=${n} onCancel=${t=>{t.preventDefault(),e.onClose()}} aria-label=${e.title}>
    <h2>${e.title}</h2>
    ${e.children}
  </dialog>`}var Te=500,E=class{question;value=$(null);#e=Number.NEGATIVE_INFINITY;constructor(n){this.question=n}get isFresh(){return performance.now()-this.#e<this.question.freshMs}async ask(){let n=performance.now();this.#e=n;let r=ae(),t=()=>{this.value.value=null,this.#e=Number.NEGATIVE_INFINITY};r.addEventListener("abort",t,{once:!0});try{let a=await fetch(this.question.path,{signal:r}),s=a.ok?await a.json():null;s!==null&&this.#e===n&&(this.value.value=s)}catch{}r.removeEventListener("abort",t),r.aborted&&t()}};function S(e){let{value:n}=e.value,{value:r}=re,t=e.question.everyMs(n);return h(()=>{e.isFresh||e.ask()},[y.value?.name,P.value]),h(()=>{if(r===0)return;let a=setTimeout(()=>{e.ask()},Te);return()=>clearTimeout(a)},[r]),h(()=>{if(t===null)return;let a=setInterval(()=>{document.hidden||e.ask()},t);return()=>clearInterval(a)},[t]),n}var Pe=new E({path:"/api/system/health",freshMs:5e3,everyMs:()=>6e4});function de(){let{attention:e=[]}=S(Pe)??{},n=e.length;if(n===0)return null;let r=e.every(({ok:a})=>a)?"warning":"fault",t=l.shell.attention(n);return o`<a class=${`badge attention-badge ${r}`} href=${M("/node")} aria-label=${t} title=${t}>
    ${f("bell")}${n}
  </a>`}var Ie=6;function R({name:e}){let[n="?"]=e,r=[...e].reduce((t,a)=>t+(a.codePointAt(0)??0),0);return o`<span class="avatar" data-letter=${n} data-color=${r%Ie} aria-hidden="true"></span>`}var Ce=700,V=6;function Se({label:e,items:n,at:r,onClose:t,children:a}){let s=v(null),u=v({text:"",at:0});return T(()=>{let c=s.current,m=document.activeElement;if(c===null)return;c.showPopover();let p=()=>Fe(c,r);p(),addEventListener("resize",p),fe(c)[0]?.focus({preventScroll:!0});let d=({target:g})=>{[c,r].some(G=>G instanceof Element&&G.contains(g))||t()};return addEventListener("pointerdown",d,{capture:!0}),()=>{removeEventListener("pointerdown",d,{capture:!0}),removeEventListener("resize",p);let{activeElement:g}=document;(g===document.body||c.contains(g))&&m instanceof HTMLElement&&m.focus({preventScroll:!0})}},[]),o`<div class="menu" popover="manual" ref=${s} onKeyDown=${c=>{let m=s.current;if(m===null||c.ctrlKey||c.metaKey||c.altKey)return;let p=fe(m),d=p.indexOf(document.activeElement),g=Le(c.key,p,d,u.current);if(c.key==="Tab"||c.key==="Escape")t();else if(g!==void 0)g.focus();else return;c.preventDefault()}}>
    ${a}
    <div role="menu" aria-label=${e}>
      ${n.map(c=>c===null?o`<hr />`:o`<${Ve} item=${c} onClose=${t} />`)}
    </div>
  </div>`}function Ve({item:e,onClose:n}){let{label:r,icon:t,keys:a,isDanger:s=!1,isChosen:u,refused:i}=e,c={role:u===void 0?"menuitem":"menuitemradio",tabindex:-1,class:s?"danger":"","aria-checked":u,"aria-disabled":i===void 0?void 0:!0,title:i},m=o`
    ${typeof t=="string"?f(t):t}
    <span>${r}</span>
    ${a!==void 0&&o`<kbd aria-hidden="true">${a}</kbd>`}
    ${u===!0&&o`<span class="end">${f("check")}</span>`}
  `;if("href"in e){let d=e.isCurrent===!0?"page":void 0;return o`<a ...${c} href=${e.href} aria-current=${d} onClick=${n}>${m}</a>`}return o`<button type="button" ...${c} aria-keyshortcuts=${a} onClick=${()=>{i===void 0&&(n(),queueMicrotask(e.run))}}>${m}</button>`}function L({label:e,items:n,head:r,children:t,...a}){let s=v(null),u=Y(!1),i=()=>{u.value=!u.value},c=()=>{u.value=!1};return o`<button
      type="button"
      ...${a}
      ref=${s}
      aria-label=${e}
      aria-haspopup="menu"
      aria-expanded=${u.value}
      onClick=${i}
    >${t}</button>
    ${u.value&&s.current&&o`<${Se} label=${e} items=${n} at=${s.current} onClose=${c}>${r}<//>`}`}function fe(e){return[...e.querySelectorAll('[role^="menuitem"]')]}function Le(e,n,r,t){if(e==="ArrowDown")return n[(r+1)%n.length];if(e==="ArrowUp")return n.at(r<=0?-1:r-1);if(e==="Home")return n[0];if(e==="End")return n.at(-1);if(e.length!==1||e===" ")return;let a=performance.now();t.text=(a-t.at<Ce?t.text:"")+e.toLocaleLowerCase(),t.at=a;let s=t.text.length===1?r+1:r;return[...n.slice(s),...n.slice(0,s)].find(({innerText:i})=>i.trim().toLocaleLowerCase().startsWith(t.text))}function Fe(e,n){let{width:r,height:t}=e.getBoundingClientRect(),a=(d,g,A)=>Math.max(V,Math.min(d,A-g-V)),s=n instanceof Element?n.getBoundingClientRect():new DOMRect(n.x,n.y,0,0),u=n instanceof Element?V:0,i=s.left+s.width/2<innerWidth/2||!(n instanceof Element),c=s.bottom+u+t+V<=innerHeight||s.top<innerHeight-s.bottom,m=i?s.left:s.right-r,p=c?s.bottom+u:s.top-u-t;e.style.left=`${a(m,r,innerWidth)}px`,e.style.top=`${a(p,t,innerHeight)}px`}function F(){return o`<a class="product" href="#/"><img src="/web/icon.svg" alt="" /><span>${C}</span></a>`}function he({bytes:e,space:n}){let{free:r,total:t}=n,a=s=>({width:`${100*Math.min(Math.max(s,0),t)/Math.max(t,1)}%`});return o`<span class="usage-bar" aria-hidden="true">
    <span class=${e>0?"own":""} style=${a(e)}></span>
    <span class="others" style=${a(t-r-e)}></span>
  </span>`}var Ae=new E({path:"/api/files/usage?path=/",freshMs:3e4,everyMs:e=>e?.isComplete===!1?2e3:null});function $e(){let e=S(Ae);if(e===null)return null;let{bytes:n,kept:r,quota:t,space:a}=e,s=t?.taken??n+r.trash+r.versions,u=t?.bytes??a?.total,i=t?Math.max(0,t.bytes-t.taken):a?.free;return u===void 0||i===void 0?o`<p class="room">${l.shell.roomUsed(w(s))}</p>`:o`<p class="room">
    ${t?l.shell.roomOf(w(s),w(u)):l.shell.roomUsed(w(s))}
    <${he} bytes=${s} space=${{free:i,total:u}} />
    ${l.shell.roomFree(w(i))}
  </p>`}var He=4;function ye({pages:e}){let n=X(J),r=e.filter(({place:i})=>i==="tab").slice(0,He),t=n?r:e.filter(({place:i})=>i==="tab"||i==="side"),a=e.filter(i=>i.place!=="user"&&!t.includes(i)),s=y.value?.name,u=a.some(({name:i})=>i===s);return o`<nav class="side" aria-label=${l.shell.navigation}>
    <${F} />
    <ul>
      ${t.map(({name:i,title:c,icon:m})=>o`<li key=${i}>
          <a href=${M(`/${i}`)} aria-current=${i===s?"page":void 0}>
            ${H(m)}<span>${c}</span>
          </a>
        </li>`)}
      ${a.length>0&&o`<li>
          <${L} label=${l.shell.more} items=${K(a)} aria-current=${u?"true":void 0}>
            ${f("ellipsis")}<span>${l.shell.more}</span>
          <//>
        </li>`}
    </ul>
    ${!n&&e.some(({name:i})=>i==="files")&&o`<${$e} />`}
  </nav>`}function K(e){return e.map(({name:n,title:r,icon:t})=>({label:r,icon:H(t),href:M(`/${n}`),isCurrent:n===y.value?.name}))}var Q=["light","dark","system"],ge="nodekeep-theme",b=$(be());z(()=>{let{dataset:e}=document.documentElement;b.value==="system"?delete e.theme:e.theme=b.value;for(let n of document.querySelectorAll("meta[data-scheme]")){let{scheme:r}=n.dataset;b.value==="system"?n.media=`(prefers-color-scheme: ${r})`:n.media=r===b.value?"all":"not all"}});addEventListener("storage",()=>{b.value=be()});function ve(e){b.value=e;try{localStorage.setItem(ge,e)}catch{}}function be(){try{let e=localStorage.getItem(ge);return Q.find(n=>n===e)??"system"}catch{return"system"}}var Oe={light:"sun",dark:"moon",system:"monitor"};function we({user:e,pages:n}){let r=[...K(n.filter(({place:a})=>a==="user")),null,...Q.map(a=>({label:l.shell.themes[a],icon:Oe[a],isChosen:b.value===a,run:()=>ve(a)})),null,{label:l.shell.signOut,icon:"log-out",run:()=>{qe()}}],t=o`<p class="person-head"><${R} name=${e.username} /><b>${e.username}</b></p>`;return o`<${L} class="person" label=${l.shell.menuOf(e.username)} items=${r} head=${t}>
    <${R} name=${e.username} />
  <//>`}async function qe(){let{signOut:e,signOutTitle:n,signOutText:r}=l.shell;if(!(Be()&&await me({title:n,text:r,agree:e})===null))try{await le(),ee(l.shell.signedOut)}catch(t){I(t,l.shell.requestFailed)}}function Be(){return!dispatchEvent(new Event("beforeunload",{cancelable:!0}))}var De='input:not([type="checkbox"]), textarea, select',Re="dialog[open], :popover-open, .viewer";function xe({target:e}){return!(e instanceof Element&&e.matches(De))&&document.querySelector(Re)===null}var Ke=200,U="files";function Me(){let e=v(null),n=Ee();h(()=>{let t=Ee();e.current!==null&&e.current.value!==t&&(e.current.value=t)},[n]),h(()=>{let t=a=>{let{key:s,ctrlKey:u,metaKey:i,altKey:c}=a;s!=="/"||u||i||c||!xe(a)||(a.preventDefault(),e.current?.focus(),e.current?.select())};return addEventListener("keydown",t),()=>removeEventListener("keydown",t)},[]);let r=({currentTarget:t})=>{let a=t.value,s=y.peek()?.name===U;if(a===""&&!s)return;let u=s?P.peek():"/";Z(`/${U}${u==="/"?"":u}`,{query:a===""?{}:{search:a},replace:s&&q.peek().search!==void 0})};return o`<search>
    ${f("search")}
    <input
      type="search"
      ref=${e}
      defaultValue=${n}
      placeholder=${l.shell.search}
      aria-label=${l.shell.search}
      aria-keyshortcuts="/"
      maxlength=${Ke}
      autocomplete="off"
      spellcheck=${!1}
      onInput=${r}
    />
    ${Qe()&&o`<kbd aria-hidden="true">/</kbd>`}
  </search>`}function Ee(){return y.value?.name===U?q.value.search??"":""}function Qe(){return matchMedia("(hover: hover) and (pointer: fine)").matches}var ke=$(null),Ne=$(!1);async function Ue(){try{ke.value??=(await import("./sign-in.js")).SignIn}catch{Ne.value=!0}}function W(e){h(()=>{Ue()},[]);let n=ke.value;return n!==null?o`<${n} ...${e} />`:Ne.value?o`<p role="alert">${l.shell.pageFailed(l.signIn.title)}</p>
    <p><button type="button" onClick=${()=>location.reload()}>${l.shell.reload}</button></p>`:o`<p class="hint">${l.shell.loading}</p>`}function We(){let e=oe.value;return o`
    <a class="skip" href="#content" onClick=${Ge}>${l.shell.skip}</a>
    <p class="away" role="status">${O.value&&l.shell.away}</p>
    ${k.value&&o`<${ye} pages=${k.value.pages} />`}
    <${_e} />
    <${ue} />
    <${ze} />
    <${te} />
    <${pe} />
    ${e&&o`<${D} title=${l.signIn.againTitle} onClose=${()=>e.end(!1)}>
        <p>${l.signIn.again}</p>
        <${W} again />
        <p class="buttons"><button type="button" onClick=${()=>e.end(!1)}>${l.cancel}</button></p>
      <//>`}
  `}function Ge(e){e.preventDefault(),document.getElementById("content")?.focus()}function _e(){let e=k.value;return o`<header class="top">
    <${F} />
    ${e?.search&&o`<${Me} />`}
    ${e&&o`<div class="end">
        ${e.user.owner&&o`<${de} />`}
        <${we} user=${e.user} pages=${e.pages} />
      </div>`}
  </header>`}function ze(){let e=k.value;if(e===void 0){let{loading:t,awayTitle:a,awayText:s}=l.shell;return o`<main id="content">
      ${O.value?o`<h1 class="unseen">${C.value}</h1><${ce} icon="wifi-off" title=${a} text=${s} />`:o`<p class="hint">${t}</p>`}
    </main>`}if(e===null)return o`<main id="content" tabindex="-1" class="narrow"><${W} /></main>`;let n=y.value;if(n!==void 0)return o`<${ie} key=${n.name} page=${n} user=${e.user} />`;let r=e.pages.length===0?l.shell.noPages:l.shell.noPage;return o`<main id="content" tabindex="-1" class="narrow"><p>${r}</p></main>`}async function Ye(){await se(),j()&&ne()&&location.reload()}_(o`<${We} />`,document.body);Ye().catch(e=>I(e,l.shell.requestFailed));
