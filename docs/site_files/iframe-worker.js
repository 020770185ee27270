// Search from file://, where browsers refuse workers: the worker's script runs in a hidden frame instead.
// Zensical would otherwise load a script for this from the network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.scope = frame.contentWindow;
      this.waiting = [];
      this.scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = url;
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.hand(data));
      };
      frame.contentDocument.documentElement.append(script);
      this.addEventListener("message", (event) => this.onmessage?.(event));
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.hand(data);
    }

    hand(data) {
      setTimeout(() => this.scope.dispatchEvent(new this.scope.MessageEvent("message", { data })));
    }

    terminate() {}
  };
}
